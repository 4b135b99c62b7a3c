import CarillonPostgres
import CarillonWeb

struct ScheduledQuery {
    static let pageLength = 100
    /// So many of the next jobs are searched for those of an app, and for retries.
    static let depth = 5_000

    /// $1: only jobs from this time on, or null; $2: how many jobs of that time were on earlier pages.
    private static let beginning = "$1 - interval '1 microsecond'"
    /// $3: the name of an app, or null; $4: whether only retries.
    private static let statement = Statement(
        "web_scheduled",
        """
        SELECT d.app, d.id, d.message_id, d.run_at, d.tokens, d.attempt, d.last_status, d.last_reason, d.reference
        FROM carillon.next_due($3, only_retries => $4,
            after => \(beginning), max_rows => (\(pageLength) + $2)::integer, max_rows_read => (\(depth) + $2)::integer) AS d
        ORDER BY d.run_at, d.id OFFSET $2
        """
    )
    private static let isDeep = Statement(
        "web_scheduled_depth",
        """
        SELECT count(*) >= \(depth) + $2 AS is_deep FROM carillon.next_due(
            after => \(beginning), max_rows => (\(depth) + $2)::integer, max_rows_read => (\(depth) + $2)::integer) AS d
        """
    )

    let database: ServiceRunner
    let app: String?
    let onlyRetries: Bool
    let start: TimeCursor?

    init(database: ServiceRunner, _ request: Request) throws {
        self.database = database
        app = request.filled("app")
        let only = request.parameter("only") ?? ""
        guard only.isEmpty || only == "retries" else {
            throw RequestError.badRequest("'only' is retries, or left out.")
        }
        onlyRetries = only == "retries"
        start = try TimeCursor(request, "after", from: "later")
    }

    func run() async throws -> ScheduledView {
        let (time, shown) = (start?.time, start?.shown ?? 0)
        let jobs: [ScheduledView.Job] = try await database.values(
            of: Self.statement,
            Parameters(time, shown, app, onlyRetries)
        )
        let isSearch = app != nil || onlyRetries
        var hasMore = false
        if isSearch, jobs.count < Self.pageLength {
            hasMore = try await database.query(Self.isDeep, Parameters(time, shown)) { try $0.bool(0, "is_deep") }
        }
        return ScheduledView(app: app, onlyRetries: onlyRetries, start: start, jobs: jobs, hasMore: hasMore)
    }
}
