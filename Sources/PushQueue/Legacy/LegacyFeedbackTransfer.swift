import ApplePush
import CarillonPostgres

/// One list of the legacy feedback service on its way into the table. The gateway forgets what it has sent, so each piece is
/// written before the next one is read. After a lost connection, the piece is written again, which changes nothing.
struct LegacyFeedbackTransfer: Sendable {
    let origin: LegacyFeedbackOrigin
    private let list: LegacyFeedbackList
    private var inHand: [Feedback] = []
    /// Entries that are in the table.
    private(set) var kept = 0

    private static let keep = Statement("keep_feedback", "SELECT carillon.keep_feedback($1, $2, $3)")

    init(of origin: LegacyFeedbackOrigin, _ list: LegacyFeedbackList) {
        self.origin = origin
        self.list = list
    }

    /// Entries that were read and are not in the table yet.
    var unwritten: Int { inHand.count }

    /// Why the list ended early, if it did.
    var failure: PushError? { get async { await list.failure } }

    /// Reads to the end of the list.
    mutating func goOn(on connection: PostgresConnection) async throws(PostgresError) {
        repeat {
            guard !inHand.isEmpty else { continue }
            try await Self.keep(inHand, of: origin, on: connection)
            kept += inHand.count
            inHand = []
        } while await readOn()
    }

    /// Throws if the table cannot be written, before entries are read that would be lost.
    static func check(_ origin: LegacyFeedbackOrigin, on connection: PostgresConnection) async throws(PostgresError) {
        try await keep([], of: origin, on: connection)
    }

    private static func keep(
        _ entries: [Feedback],
        of origin: LegacyFeedbackOrigin,
        on connection: PostgresConnection
    ) async throws(PostgresError) {
        let parameters = Parameters(
            PostgresArray(origin.apps),
            PostgresArray(entries.map(\.token)),
            PostgresArray(entries.map { $0.timestamp ?? 0 })
        )
        try await connection.execute(Self.keep, parameters)
    }

    private mutating func readOn() async -> Bool {
        guard let piece = await list.nextPiece() else { return false }
        inHand = piece
        return true
    }
}
