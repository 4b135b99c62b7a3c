import CarillonPostgres
import CarillonWeb

/// How many pushes of an app failed for a reason, among its newest failures.
struct FailureGroup: RowReadable, JSONConvertible {
    /// The largest groups are shown.
    static let most = 25

    /// $1: the name of one app; $2: a reason; $3: seconds back; $4: with those that were dismissed; $5: how many of the newest
    /// failures of each app are looked at. $1 and $2 may be null.
    static let statement = Statement(
        "web_failure_groups",
        """
        SELECT f.app, f.reason, f.status, count(*) AS pushes, count(f.requeued_at) AS requeued, max(f.failed_at) AS last_at,
            bool_or(f.is_bounded) AS is_bounded, $5 AS depth
        FROM (
            SELECT a.name AS app, f.reason, f.status, f.requeued_at, f.failed_at, f.dismissed_at,
                count(*) OVER (PARTITION BY a.id) >= $5 AS is_bounded
            FROM (\(chosenApps)) a CROSS JOIN LATERAL (
                SELECT f.reason, f.status, f.requeued_at, f.failed_at, f.dismissed_at FROM carillon.failures f
                WHERE f.app_id = a.id AND f.failed_at > now() - make_interval(secs => $3)
                ORDER BY f.failed_at DESC LIMIT $5) f
        ) f
        WHERE ($2 IS NULL OR f.reason = $2) AND ($4 OR f.dismissed_at IS NULL)
        GROUP BY f.app, f.reason, f.status ORDER BY count(*) DESC, f.app, f.reason LIMIT \(most)
        """
    )

    /// The app $1, or all.
    static let chosenApps = """
        SELECT a.id, a.name FROM carillon.apps a WHERE $1 IS NULL OR a.name = $1 ORDER BY a.name LIMIT \(LookDepth.apps)
        """

    static func read(
        app: String?,
        reason: String?,
        within window: FailureWindow,
        dismissed: Bool = false,
        depth: Int64,
        from database: WebDatabase
    ) async throws -> [FailureGroup] {
        try await database.values(of: statement, Parameters(app, reason, window.seconds, dismissed, depth))
    }

    let app: String
    let reason: String
    let status: Int64?
    let pushes: Int64
    let requeued: Int64
    let lastAt: Moment
    /// The app has more failures than were looked at.
    let isBounded: Bool
    /// How many were looked at.
    let depth: Int64

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.string(row, "app")
        reason = try rows.string(row, "reason")
        status = try rows.int64IfPresent(row, "status")
        pushes = try rows.int64(row, "pushes")
        requeued = try rows.int64(row, "requeued")
        lastAt = Moment(try rows.timestamp(row, "last_at"))
        isBounded = try rows.bool(row, "is_bounded")
        depth = try rows.int64(row, "depth")
    }

    var json: JSONValue {
        [
            "app": app, "reason": reason, "status": status, "pushes": pushes, "requeued": requeued, "last_at": lastAt,
            "is_bounded": isBounded, "meaning": ReasonSentence.text(for: reason),
        ]
    }
}

/// How far back a page of failures looks.
enum FailureWindow: String, CaseIterable, Sendable {
    case hour = "1h"
    case day = "1d"
    case week = "7d"

    var seconds: Double {
        switch self {
        case .hour: 3_600
        case .day: 86_400
        case .week: 7 * 86_400
        }
    }

    var text: String {
        switch self {
        case .hour: "the last hour"
        case .day: "the last day"
        case .week: "the last 7 days"
        }
    }
}
