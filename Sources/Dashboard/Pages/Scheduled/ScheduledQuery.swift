import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct ScheduledQuery {
    static let pageLength = 100

    /// $3: only jobs from this time on, in microseconds since 1970, or null; $4: how many jobs of that time were on earlier pages.
    private static let statement = Statement(
        "web_scheduled",
        """
        SELECT d.app, d.id, d.message_id, d.run_at, d.tokens, d.attempt, d.last_status, d.last_reason, d.reference
        FROM carillon.next_due($1, only_retries => $2,
            after => coalesce('epoch'::timestamptz + ($3 - 1) * interval '1 microsecond', '-infinity'),
            max_rows => (\(pageLength) + $4)::integer, max_rows_read => (5000 + $4)::integer) AS d
        ORDER BY d.run_at, d.id OFFSET $4
        """
    )

    let database: WebDatabase
    let app: String?
    let onlyRetries: Bool
    let start: TimeCursor?

    init(database: WebDatabase, _ request: Request) throws {
        self.database = database
        app = request.parameter("app").flatMap { $0.isEmpty ? nil : $0 }
        let only = request.parameter("only") ?? ""
        guard only.isEmpty || only == "retries" else { throw PageError.badRequest("'only' is retries, or left out.") }
        onlyRetries = only == "retries"
        start = try TimeCursor(request, "after", from: "later")
    }

    func run() async throws -> ScheduledView {
        ScheduledView(
            app: app,
            onlyRetries: onlyRetries,
            start: start,
            jobs: try await database.values(
                of: Self.statement,
                Parameters(app, onlyRetries, start?.time, start?.shown ?? 0)
            )
        )
    }
}
