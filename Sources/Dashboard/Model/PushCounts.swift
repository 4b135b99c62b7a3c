import CarillonPostgres
import CarillonSchema
import CarillonText

/// Pushes that ended within one minute or several.
struct PushCounts: Record {
    private static let minutes = statement(
        "web_minutes",
        """
        SELECT t.minute AS start, t.sent, t.failed, t.expired, t.retried FROM carillon.push_counts t
        WHERE t.app_id = a.id AND t.minute BETWEEN span.start AND now()
        """
    )
    /// Reads the sums, and counts that are not summed yet.
    private static let sums = statement(
        "web_sums",
        """
        SELECT s.start, s.sent, s.failed, s.expired, s.retried FROM carillon.push_count_sums s
        WHERE s.app_id = a.id AND s.start >= span.start
        UNION ALL
        SELECT t.minute, t.sent, t.failed, t.expired, t.retried FROM carillon.push_counts t
        WHERE t.app_id = a.id AND t.minute <= now() AND t.minute >= greatest(span.start, (
            SELECT max(s.start) + interval '20 minutes' FROM carillon.push_count_sums s WHERE s.app_id = a.id))
        """
    )

    /// $1: the name of an app, or null for the first app by name; $2: how many seconds to look back; $3: the length of a bucket in
    /// seconds. The current bucket is the last.
    ///
    /// - Parameter counts: selects the counts of the app `a.id` since `span.start`.
    private static func statement(_ name: String, _ counts: String) -> Statement {
        Statement(
            name,
            """
            WITH span AS (
                SELECT make_interval(secs => $3) AS size,
                    date_bin(make_interval(secs => $3), now() - make_interval(secs => $2), 'epoch') AS start
            ), counts AS (
                SELECT date_bin(span.size, t.start, 'epoch') AS start, sum(t.sent) AS sent, sum(t.failed) AS failed,
                    sum(t.expired) AS expired, sum(t.retried) AS retried
                FROM span CROSS JOIN (\(ReadDepth.chosenApps)) a CROSS JOIN LATERAL (\(counts)) t
                GROUP BY 1
            )
            SELECT b.start, coalesce(c.sent, 0)::int8 AS sent, coalesce(c.failed, 0)::int8 AS failed,
                coalesce(c.expired, 0)::int8 AS expired, coalesce(c.retried, 0)::int8 AS retried
            FROM span CROSS JOIN LATERAL generate_series(span.start + span.size, now(), span.size) AS b (start)
            LEFT JOIN counts c ON c.start = b.start ORDER BY b.start
            """
        )
    }

    /// - Parameter app: the name of an app; nil for all apps.
    static func read(app: String?, _ span: PushCountSpan, from database: ServiceRunner) async throws -> [PushCounts] {
        let statement = span == .hour ? minutes : sums
        return try await database.values(of: statement, Parameters(app, span.seconds, span.bucketSeconds))
    }

    let start: Moment
    let sent: Int64
    let failed: Int64
    let expired: Int64
    let retried: Int64
    let json: JSONValue
}
