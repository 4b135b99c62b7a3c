import CarillonPostgres
import CarillonWeb

/// Finds messages by what a person has at hand: the id of a message or broadcast, a reference, or a device token.
struct FindQuery {
    private static let byID = Statement(
        "web_find_id",
        "SELECT m.app, m.id, m.state, m.reference FROM carillon.message_status(id => $1) AS m ORDER BY m.app LIMIT 50"
    )
    private static let byReference = Statement(
        "web_find_reference",
        "SELECT s.app, s.id, NULL::text AS state, $1 AS reference FROM carillon.search_reference($1) AS s"
    )
    private static let byToken = Statement(
        "web_find_token",
        """
        SELECT s.app, s.event, s.at, s.message_id, s.status, s.reason, s.attempt
        FROM carillon.search_token($1) AS s
        """
    )

    let database: WebDatabase
    let tokens: TokenDisplay
    let wanted: String
    /// A person is shown the message itself if there is only one.
    private let wantsList: Bool

    init(database: WebDatabase, tokens: TokenDisplay, _ request: Request) {
        self.database = database
        self.tokens = tokens
        wantsList = request.wantsJSON
        let text = request.parameter("q") ?? ""
        wanted = text.withoutBlanks
    }

    func run() async throws -> any PageView {
        guard !wanted.isEmpty else { return FindView(wanted: wanted, messages: [], events: nil, tokens: tokens) }
        var messages: [FoundMessage] = []
        if let id = Int64(wanted), id > 0 {
            messages += try await database.values(of: Self.byID, Parameters(id))
        }
        messages += try await database.values(of: Self.byReference, Parameters(wanted))
        let events: [TokenEvent]? =
            TokenText.isLikely(wanted) ? try await database.values(of: Self.byToken, Parameters(wanted)) : nil
        if !wantsList, messages.count == 1, (events ?? []).isEmpty {
            let (id, app) = (messages[0].id, messages[0].app)
            return try await MessageQuery(database: database, tokens: tokens, id: id, app: app).run()
        }
        return FindView(wanted: wanted, messages: messages, events: events, tokens: tokens)
    }
}

extension TokenText {
    /// Whether a person who writes this means a device token: a long text of hex digits.
    static func isLikely(_ text: String) -> Bool {
        text.count >= 16 && text.count.isMultiple(of: 2) && text.count <= 512
            && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}

struct FoundMessage: RowReadable, JSONConvertible {
    let app: String?
    let id: Int64
    /// Nil if it was found by its reference.
    let state: String?
    let reference: String?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.stringIfPresent(row, "app")
        id = try rows.int64(row, "id")
        state = try rows.stringIfPresent(row, "state")
        reference = try rows.stringIfPresent(row, "reference")
    }

    var link: Link { Link("messages", String(id), query: ["app": app]) }

    var json: JSONValue { ["app": app, "id": id, "state": state, "reference": reference, "see": link.text] }
}

/// Something that happened to a device token.
struct TokenEvent: RowReadable, JSONConvertible {
    let app: String
    let event: String
    let at: Moment?
    let message: Int64?
    let status: Int64?
    let reason: String?
    let attempt: Int64?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.string(row, "app")
        event = try rows.string(row, "event")
        at = try rows.timestampIfPresent(row, "at").map(Moment.init)
        message = try rows.int64IfPresent(row, "message_id")
        status = try rows.int64IfPresent(row, "status")
        reason = try rows.stringIfPresent(row, "reason")
        attempt = try rows.int64IfPresent(row, "attempt")
    }

    var mark: StateMark {
        switch event {
        case "registered": .good
        case "failed", "dead since", "reported dead", "reaped": .bad
        default: .quiet
        }
    }

    var json: JSONValue {
        [
            "app": app, "event": event, "at": at, "message_id": message, "status": status, "reason": reason,
            "attempt": attempt,
        ]
    }
}
