import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Finds messages by the id of a message or broadcast, a reference, or a device token.
struct FindQuery {
    private static let byReference = Statement(
        "web_find_reference",
        """
        SELECT s.app, s.id, NULL::text AS state, NULL::timestamptz AS created_at, $1 AS reference
        FROM carillon.search_reference($1) AS s
        """
    )
    /// The maximum number of messages of one reference whose state is read.
    private static let stateDepth = 10
    private static let byToken = Statement(
        "web_find_token",
        """
        SELECT s.app, s.event, s.at, s.message_id, s.status, s.reason, s.attempt
        FROM carillon.search_token($1) AS s
        """
    )

    /// $1: how many rows of each app the search reads; $2: whether it reads the history too.
    private static let unsearched = Statement("web_unsearched", "SELECT u FROM carillon.unsearched_apps($1, $2) AS u")
    /// What search_reference() and search_token() read by default.
    private static let (referenceDepth, tokenDepth): (Int32, Int32) = (4_000, 2_000)

    let database: ServiceRunner
    let tokens: TokenDisplay
    let wanted: String
    /// Whether a list is returned even for a single match. A person gets the page of the message instead.
    private let wantsList: Bool

    init(database: ServiceRunner, tokens: TokenDisplay, _ request: Request) {
        self.database = database
        self.tokens = tokens
        wantsList = request.wantsJSON
        let text = request.parameter("q") ?? ""
        wanted = text.trimmed
    }

    func run() async throws -> any PageView {
        guard !wanted.isEmpty else {
            return FindView(wanted: wanted, messages: [], events: nil, unsearched: [], tokens: tokens)
        }
        async let byReference: [FoundMessage] = database.values(of: Self.byReference, Parameters(wanted))
        async let events = events()
        let query = Int64(wanted).flatMap { id in
            id > 0 ? MessageQuery(database: database, tokens: tokens, id: id, app: nil) : nil
        }
        let byID = try await query?.messagesIfAny() ?? []
        let messages = byID.map(FoundMessage.init) + (try await byReference)
        if !wantsList, messages.count == 1, (try await events ?? []).isEmpty {
            if let query, let message = byID.first { return try await query.view(of: message) }
            let (id, app) = (messages[0].id, messages[0].app)
            return try await MessageQuery(database: database, tokens: tokens, id: id, app: app).run()
        }
        let detailed = try await detailed(messages)
        return FindView(
            wanted: wanted,
            messages: detailed,
            events: try await events,
            unsearched: try await unsearched(),
            tokens: tokens
        )
    }

    /// Adds the state and time of each message, up to the limit.
    private func detailed(_ messages: [FoundMessage]) async throws -> [FoundMessage] {
        var detailed: [FoundMessage] = []
        for message in messages {
            var found = message
            if message.state == nil, detailed.count < Self.stateDepth {
                let query = MessageQuery(database: database, tokens: tokens, id: message.id, app: message.app)
                let progress = try await query.messagesIfAny().first { $0.app == message.app }
                if let progress { found = FoundMessage(progress) }
            }
            detailed.append(found)
        }
        return detailed
    }

    /// The apps of which there is more than was searched.
    private func unsearched() async throws -> [String] {
        let isToken = TokenDisplay.isToken(wanted)
        let depth = isToken ? Self.tokenDepth : Self.referenceDepth
        return try await database.values(of: Self.unsearched, Parameters(depth, isToken))
    }

    /// The events of a device token; nil if the text is not a device token.
    private func events() async throws -> [TokenEvent]? {
        guard TokenDisplay.isToken(wanted) else { return nil }
        return try await database.values(of: Self.byToken, Parameters(wanted))
    }
}
