import CarillonPostgres

/// Reads counts of registered tokens, and reports of dead ones.
struct TokensQuery {
    /// The most apps whose tokens are counted, the first by name.
    static let maxApps = 100
    /// The most counts of reports, one for each app and day.
    static let maxRows = 100

    private static let counts = Statement(
        "web_token_counts",
        "SELECT c.app, c.kind, c.tokens, c.tokens_precision FROM carillon.token_counts(\(maxApps)) AS c"
    )
    private static let days = Statement(
        "web_feedback_days",
        """
        SELECT f.app, to_char(least(f.seen_at, now()) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*) AS reported_dead,
            count(*) FILTER (WHERE f.handled_at IS NULL) AS waiting, bool_or(f.is_bounded) AS is_bounded
        FROM (
            SELECT a.name AS app, f.*, count(*) OVER (PARTITION BY a.id) >= $1 AS is_bounded
            FROM (SELECT a.id, a.name FROM carillon.apps a ORDER BY a.name LIMIT \(ReadDepth.maxApps)) a CROSS JOIN LATERAL (
                SELECT f.seen_at, f.handled_at FROM carillon.feedback f WHERE f.app_id = a.id
                ORDER BY f.id DESC \(ReadDepth.limit("$1"))) f) f
        WHERE f.seen_at > now() - interval '14 days'
        GROUP BY f.app, day ORDER BY day DESC, f.app LIMIT \(maxRows)
        """
    )
    private static let passes = Statement(
        "web_feedback_passes",
        """
        SELECT s.next_run AS next, extract(epoch FROM s.every)::int8 AS every_seconds, (
            SELECT f.handled_at FROM carillon.feedback f WHERE f.handled_at IS NOT NULL ORDER BY f.handled_at DESC LIMIT 1)
            AS last_handled
        FROM carillon.feedback_schedule() AS s
        """
    )

    let database: ServiceRunner

    func run() async throws -> TokensView {
        async let counts: [TokensView.Count] = database.values(of: Self.counts)
        let apps = try await ReadDepth.appCount(from: database)
        let depth = ReadDepth.each(of: apps)
        async let days: [TokensView.Day] = database.values(of: Self.days, Parameters(depth))
        async let passes: [TokensView.Passes] = database.values(of: Self.passes)
        return TokensView(
            counts: try await counts,
            days: try await days,
            apps: apps,
            depth: depth,
            passes: try await passes.first
        )
    }
}
