import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Finds the apps in which a text is an owner, a device token, a reference or the id of a message, and traces it there.
struct TraceQuery {
    /// The most matches that are traced on one page.
    static let maxTraces = 3
    /// As `trace` by default.
    private static let maxRowsRead: Int32 = 2_000
    /// How many messages search_reference() returns, and how many rows it and search_token() read by default.
    private static let (maxReferenced, referenceDepth, tokenDepth): (Int, Int32, Int32) = (50, 4_000, 2_000)

    private static let owners = Statement("web_search_owner", "SELECT s.app FROM carillon.search_owner($1) AS s")
    private static let tokens = Statement("web_search_token", "SELECT s.app FROM carillon.search_token($1) AS s")
    private static let references = Statement(
        "web_search_reference",
        "SELECT s.app, s.id FROM carillon.search_reference($1) AS s"
    )
    private static let messages = Statement(
        "web_search_message",
        """
        SELECT m.app, m.id FROM carillon.message_status(id => $1, max_rows_read => 1) AS m ORDER BY m.app LIMIT 20
        """
    )
    /// $1: how many rows of each app the search reads; $2: whether it reads the history too.
    private static let unsearched = Statement("web_unsearched", "SELECT u FROM carillon.unsearched_apps($1, $2) AS u")

    private struct FoundMessage: Decodable, Sendable {
        let app: String?
        let id: Int64
    }

    let database: ServiceRunner
    let tokens: TokenDisplay
    let wanted: String
    let app: String?
    let kind: TraceSubject.Kind?
    /// Nil for everything that is kept.
    let window: FailureWindow?

    init(database: ServiceRunner, tokens: TokenDisplay, _ request: Request) throws {
        self.database = database
        self.tokens = tokens
        wanted = (request.parameter("q") ?? "").trimmed
        app = request.filled("app")
        kind = try request.filled("by").map { text in
            guard let kind = TraceSubject.Kind(rawValue: text) else {
                throw RequestError.badRequest("'by' is owner, token, reference or message.")
            }
            return kind
        }
        window = request.filled("since") == nil ? nil : try FailureWindow(request)
    }

    func run() async throws -> TraceView {
        guard !wanted.isEmpty else { return view([]) }
        if let app, let kind {
            guard let subject = TraceSubject(kind, wanted) else { throw RequestError.notMessageID }
            return view(try await traced([TraceMatch(app: app, subject: subject)]))
        }
        async let found = search()
        async let unsearched = unsearched()
        let (matches, isCut) = try await found
        return view(try await traced(matches), isCut: isCut, unsearched: try await unsearched)
    }

    private func view(_ matches: [TraceMatch], isCut: Bool = false, unsearched: [String] = []) -> TraceView {
        TraceView(query: self, matches: matches, isCut: isCut, unsearched: unsearched)
    }

    /// Adds the traces of the first.
    private func traced(_ matches: [TraceMatch]) async throws -> [TraceMatch] {
        var traced: [TraceMatch] = []
        for var match in matches {
            if let app = match.app, traced.count < Self.maxTraces {
                match.records = try await TraceRecord.all(
                    of: app,
                    match.subject,
                    since: window?.seconds,
                    reading: Self.maxRowsRead,
                    maxBytes: AnswerLimit.maxBytes / min(max(matches.count, 1), Self.maxTraces),
                    from: database
                ).filter { tokens.isWhole || !$0.isOwner }
            }
            traced.append(match)
        }
        return traced
    }

    private func search() async throws -> (matches: [TraceMatch], isCut: Bool) {
        async let ids = messages()
        async let owners = apps(.owner, Self.owners)
        async let holders = apps(.token, Self.tokens)
        let references: [FoundMessage] =
            seeks(.reference) ? try await database.values(of: Self.references, Parameters(wanted)) : []
        var matches = (try await ids).map { TraceMatch(app: $0.app, subject: .message($0.id)) }
        matches += (try await holders).map { TraceMatch(app: $0, subject: .token(wanted)) }
        matches += (try await owners).map { TraceMatch(app: $0, subject: .owner(wanted)) }
        var referring: Set<String> = []
        for message in references {
            guard let app = message.app else {
                matches.append(TraceMatch(app: nil, subject: .message(message.id)))
                continue
            }
            if referring.insert(app).inserted { matches.append(TraceMatch(app: app, subject: .reference(wanted))) }
        }
        return (matches.filter { app == nil || $0.app == app }, references.count >= Self.maxReferenced)
    }

    /// Whether the text may be meant as this kind.
    private func seeks(_ kind: TraceSubject.Kind) -> Bool {
        if let wantedKind = self.kind { return wantedKind == kind }
        return kind != .token || TokenDisplay.isToken(wanted)
    }

    private func apps(_ kind: TraceSubject.Kind, _ statement: Statement) async throws -> [String] {
        seeks(kind) ? try await database.values(of: statement, Parameters(wanted)) : []
    }

    private func messages() async throws -> [FoundMessage] {
        guard seeks(.message), let id = Int64(wanted), id > 0 else { return [] }
        return try await database.values(of: Self.messages, Parameters(id))
    }

    /// The apps of which there is more than was searched. Indexes find owners and ids.
    private func unsearched() async throws -> [String] {
        guard seeks(.reference) || seeks(.token) else { return [] }
        let depth = seeks(.token) ? Self.tokenDepth : Self.referenceDepth
        let apps: [String] = try await database.values(of: Self.unsearched, Parameters(depth, seeks(.token)))
        return apps.filter { app == nil || $0 == app }
    }
}
