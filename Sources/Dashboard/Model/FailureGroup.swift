import CarillonPostgres
import CarillonSchema
import CarillonText

/// How many pushes of an app failed for a reason, among its newest failures.
struct FailureGroup: Record {
    /// The maximum number of groups; the largest are shown.
    static let maxRows = 25

    /// $1: the name of an app; $2: a reason; $3: how many seconds to look back; $4: whether to include dismissed failures; $5: how
    /// many of the newest failures of each app to read. $1 and $2 may be null.
    static let statement = Statement(
        "web_failure_groups",
        """
        SELECT g.app, g.reason, g.status, sum(g.pushes)::int8 AS pushes, sum(g.requeued)::int8 AS requeued,
            max(g.last_at) AS last_at, bool_or(g.is_bounded) AS is_bounded, $5 AS depth, max(g.oldest) AS oldest,
            array_agg(g.ago) AS intervals_ago, array_agg(g.pushes) AS interval_pushes
        FROM (
            SELECT f.app, f.reason, f.status, f.ago, count(*) AS pushes, count(f.requeued_at) AS requeued,
                max(f.failed_at) AS last_at, bool_or(f.count >= $5) AS is_bounded,
                max(CASE WHEN f.count >= $5 THEN f.oldest ELSE \(FailureTrend.parts - 1) END) AS oldest
            FROM (
                SELECT a.name AS app, f.reason, f.status, f.requeued_at, f.failed_at, f.dismissed_at, f.ago,
                    count(*) OVER (PARTITION BY a.id) AS count, max(f.ago) OVER (PARTITION BY a.id) AS oldest
                FROM (\(ReadDepth.chosenApps)) a CROSS JOIN LATERAL (
                    SELECT f.reason, f.status, f.requeued_at, f.failed_at, f.dismissed_at,
                        floor(greatest(0, extract(epoch FROM now() - least(f.failed_at, now())) * \(FailureTrend.parts) / $3))::int8 AS ago
                    FROM carillon.failures f
                    WHERE f.app_id = a.id AND f.failed_at > now() - make_interval(secs => $3)
                    ORDER BY f.failed_at DESC \(ReadDepth.limit("$5"))) f
            ) f
            WHERE ($2 IS NULL OR f.reason = $2) AND ($4 OR f.dismissed_at IS NULL)
            GROUP BY f.app, f.reason, f.status, f.ago
        ) g
        GROUP BY g.app, g.reason, g.status ORDER BY sum(g.pushes) DESC, g.app, g.reason LIMIT \(maxRows)
        """
    )

    static func read(
        app: String?,
        reason: String?,
        within window: FailureWindow,
        dismissed: Bool = false,
        depth: Int64,
        from database: ServiceRunner
    ) async throws -> [FailureGroup] {
        try await database.values(of: statement, Parameters(app, reason, window.seconds, dismissed, depth))
    }

    let app: String
    let reason: String
    let status: Int64?
    let pushes: Int64
    let requeued: Int64
    let lastAt: Moment
    /// Whether the app has more failures than were read.
    let isBounded: Bool
    var amount: Amount { Amount(pushes, .init(isCut: isBounded)) }
    /// How many failures were read.
    let depth: Int64
    /// For each failure, how many intervals ago it occurred, with the number of failures.
    private let intervalsAgo: [Int64]
    private let intervalPushes: [Int64]
    /// How many intervals back the failures were read.
    private let oldest: Int

    var trend: FailureTrend {
        FailureTrend(zip(intervalsAgo.map { Int($0) }, intervalPushes).map { ($0, $1) }, oldest: oldest)
    }

    var json: JSONValue {
        [
            "app": app, "reason": reason, "status": status, "pushes": pushes, "requeued": requeued, "last_at": lastAt,
            "pushes_precision": amount.precision, "trend": trend, "meaning": ReasonText.meaning(of: reason),
        ]
    }
}
