import CarillonPostgres
import CarillonSchema
import CarillonWeb

struct FailuresQuery {
    static let pageLength = 50

    /// $1 to $3: as for the groups; $4: only failures up to this time, or null; $5: whether to include dismissed failures;
    /// $6: as $5 for the groups; $7: how many failures of that time were on earlier pages.
    private static let statement = Statement(
        "web_failures",
        """
        SELECT \(FailureRecord.columns)
        FROM (\(ReadDepth.chosenApps)) a CROSS JOIN LATERAL (
            SELECT f.* FROM carillon.failures f
            WHERE f.app_id = a.id AND f.failed_at > now() - make_interval(secs => $3) AND ($4 IS NULL OR f.failed_at <= $4)
            ORDER BY f.failed_at DESC \(ReadDepth.limit("$6 + $7"))) f
        WHERE ($2 IS NULL OR f.reason = $2) AND ($5 OR f.dismissed_at IS NULL)
        ORDER BY f.failed_at DESC, f.message_id DESC, f.token LIMIT \(pageLength) OFFSET $7
        """
    )

    /// $1: the name of an app, or null; $2: how many seconds to look back; $3: how many of the newest failures of each app are read.
    private static let isDeep = Statement(
        "web_failures_depth",
        """
        SELECT EXISTS (
            SELECT FROM (\(ReadDepth.chosenApps)) a CROSS JOIN LATERAL (
                SELECT count(*) AS failures FROM (
                    SELECT FROM carillon.failures f WHERE f.app_id = a.id AND f.failed_at > now() - make_interval(secs => $2)
                    \(ReadDepth.limit("$3"))) few) c
            WHERE c.failures >= $3) AS is_deep
        """
    )

    let database: ServiceRunner
    let tokens: TokenDisplay
    let app: String?
    let reason: String?
    let window: FailureWindow
    let start: TimeCursor?
    let showsDismissed: Bool

    init(database: ServiceRunner, tokens: TokenDisplay, _ request: Request) throws {
        self.database = database
        self.tokens = tokens
        app = request.filled("app")
        reason = request.filled("reason")
        window = try FailureWindow(request)
        showsDismissed = request.parameter("dismissed") != nil
        start = try TimeCursor(request, "before", from: "older")
    }

    func run() async throws -> FailuresView {
        let apps = try await app == nil ? ReadDepth.appCount(from: database) : 1
        let depth = try await ReadDepth.read(for: app, from: database)
        async let groups = FailureGroup.read(
            app: app,
            reason: reason,
            within: window,
            dismissed: showsDismissed,
            depth: depth,
            from: database
        )
        async let failures: [FailureRecord] = database.values(
            of: Self.statement,
            Parameters(app, reason, window.seconds, start?.time, showsDismissed, depth, start?.shown ?? 0)
        )
        async let isDeep = database.query(Self.isDeep, Parameters(app, window.seconds, depth)) { rows in
            try rows.bool(0, "is_deep")
        }
        let hasMore = try await isDeep
        return FailuresView(
            app: app,
            reason: reason,
            window: window,
            start: start,
            showsDismissed: showsDismissed,
            depth: depth,
            readsAll: apps <= ReadDepth.maxApps && !hasMore,
            groups: try await groups,
            failures: try await failures,
            tokens: tokens
        )
    }
}
