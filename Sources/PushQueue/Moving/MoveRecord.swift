/// What the statements of `AppMove` return.
enum MoveRecord {
    struct Departure: Decodable, Sendable {
        let appID: Int32
        let move: String
        let run: Int64
        let source: String
        let hasLeft: Bool
    }

    struct Table: Decodable, Sendable {
        let place: Int32
        let isHistory: Bool
    }

    struct WatchedTable: Decodable, Sendable {
        let relation: String
        let tokenColumn: String
        let updatedColumn: String
        let appColumn: String?
    }

    struct Tokens: Decodable, Sendable {
        let rows: String?
        let last: String?
        let count: Int64
    }

    struct TokenChanges: Decodable, Sendable {
        let tokens: String?
        let rows: String
        let readAt: String
        let count: Int64
    }

    struct TableRows: Decodable, Sendable {
        let rows: String?
        let count: Int64
    }

    struct History: Decodable, Sendable {
        let rows: String?
        let count: Int64
        let nextPartition: String?
        let nextPage: Int64
    }

    struct LateBatch: Decodable, Sendable {
        let lateBatch: Int64
        let ids: String
    }

    struct Pause: Decodable, Sendable {
        let wasPaused: Bool
        let pausedReason: String?
    }
}
