import CarillonPostgres
import CarillonSchema
import CarillonWeb

struct MessageQuery {
    static let maxFailures = 200
    static let maxFlights = 50
    /// The maximum number of failures of a message that are read: a broadcast may have a million.
    static let failureDepth = 2_000
    /// How many rows of each lane are read to find a retry that is due, which no index finds.
    static let retryDepth = 1_000

    private static let message = Statement(
        "web_message",
        """
        SELECT \(MessageStatus.columns) FROM carillon.message_status(id => $1, app => $2, max_rows_read => \(retryDepth)) AS m ORDER BY m.app LIMIT 20
        """
    )
    private static let flights = Statement(
        "web_message_flights",
        """
        SELECT p.id AS job, p.claimed_at, p.attempt, p.token_count AS tokens, w.name AS worker
        FROM carillon.pending p LEFT JOIN carillon.workers w ON w.id = p.worker_id
        WHERE p.state = 'in flight' AND p.app IS NOT DISTINCT FROM $2
            AND (p.id = $1 OR p.origin = $1 OR p.broadcast_id = $1)
        ORDER BY p.claimed_at LIMIT \(maxFlights)
        """
    )
    /// $1: the id of the whole message; $2: the name of its app, or null if the app was removed. Includes one failure of each
    /// reason.
    private static let failures = Statement(
        "web_message_failures",
        """
        SELECT \(FailureRecord.columns), f.of_reason
        FROM (
            SELECT * FROM (
                SELECT seen.*, count(*) OVER (PARTITION BY seen.status, seen.reason) AS of_reason,
                    row_number() OVER (PARTITION BY seen.status, seen.reason ORDER BY seen.failed_at DESC) AS place
                FROM (SELECT (SELECT a.id FROM carillon.apps a WHERE a.name = $2) AS id) a CROSS JOIN LATERAL (
                    SELECT of_job.* FROM carillon.failed_jobs(a.id, $1, \(WorkerResults.jobDepth)) job CROSS JOIN LATERAL (
                        SELECT * FROM carillon.failures f WHERE f.message_id = job.message_id AND ($2 IS NULL OR f.app_id = a.id)
                        LIMIT \(failureDepth)) of_job
                    LIMIT \(failureDepth)) seen
            ) ranked
            ORDER BY ranked.place > 1, ranked.failed_at DESC LIMIT \(maxFailures)
        ) f CROSS JOIN (SELECT $2 AS name) a
        ORDER BY f.failed_at DESC, f.token
        """
    )

    let database: ServiceRunner
    let tokens: TokenDisplay
    let id: Int64
    let app: String?

    init(database: ServiceRunner, tokens: TokenDisplay, id: Int64, app: String?) {
        self.database = database
        self.tokens = tokens
        self.id = id
        self.app = app
    }

    init(database: ServiceRunner, tokens: TokenDisplay, _ request: Request) throws {
        self.init(database: database, tokens: tokens, id: try Self.id(request), app: request.parameter("app"))
    }

    static func id(_ request: Request) throws -> Int64 {
        guard let id = request.pathParameters["id"].flatMap(Int64.init), id > 0 else {
            throw RequestError.notMessageID
        }
        return id
    }

    func run() async throws -> any PageView { try await page { try await view(of: $0) } }

    /// Asks whether to cancel what is left.
    func cancelling() async throws -> any PageView { try await page { CancelView(message: $0) } }

    private func page(_ view: (MessageStatus) async throws -> any PageView) async throws -> any PageView {
        let found = try await messages()
        if found.count > 1 { return MessageChoiceView(id: id, apps: found.map(\.app)) }
        return try await view(found[0])
    }

    private func view(of message: MessageStatus) async throws -> MessageView {
        async let flights: [MessageFlight] = database.values(of: Self.flights, Parameters(message.id, message.app))
        async let failures: [MessageFailure] = database.values(of: Self.failures, Parameters(message.id, message.app))
        async let workers: [WorkerResults] = database.values(
            of: WorkerResults.statement,
            Parameters(message.id, message.app)
        )
        async let contents = tokens.isWhole ? MessageContents.of(message, from: database) : nil
        return MessageView(
            message: message,
            flights: try await flights,
            failures: try await failures,
            workers: try await workers,
            contents: try await contents,
            tokens: tokens
        )
    }

    /// At least one message: that of the named app, or one of each app.
    func messages() async throws -> [MessageStatus] {
        let found = try await messagesIfAny()
        guard !found.isEmpty else {
            throw RequestError.notFound(
                "There is no message \(id)\(app.map { " of app \($0)" } ?? "").",
                hint: "Messages that have ended are deleted after the workers' --retention."
            )
        }
        return found
    }

    func messagesIfAny() async throws -> [MessageStatus] {
        try await database.values(of: Self.message, Parameters(id, app))
    }
}
