import CarillonPostgres

struct BroadcastsQuery {
    static let maxRows = 25
    /// The maximum number of jobs whose results are added up; it can reduce the number of broadcasts shown.
    private static let jobs = 50_000

    private static let statement = Statement(
        "web_broadcasts",
        """
        SELECT b.id, a.name AS app, b.reference, b.jobs, b.tokens, b.created_at, b.cancelled_at, p.sent, p.failed, p.expired,
            p.cancelled, p.waiting, p.finished_at, a.max_rate, extract(epoch FROM now() - b.created_at)::float8 AS elapsed,
            b.newest
        FROM (
            SELECT b.*, sum(b.jobs) OVER (ORDER BY b.id DESC) - b.jobs AS newer_jobs, count(*) OVER () AS newest
            FROM (SELECT * FROM carillon.split_messages b ORDER BY b.id DESC LIMIT \(maxRows)) b) b
        JOIN carillon.apps a ON a.id = b.app_id
        CROSS JOIN LATERAL carillon.broadcast_progress(b.id, a.name) p
        WHERE b.newer_jobs < \(jobs) ORDER BY b.id DESC
        """
    )

    let database: ServiceRunner

    func run() async throws -> BroadcastsView {
        BroadcastsView(broadcasts: try await database.values(of: Self.statement))
    }
}
