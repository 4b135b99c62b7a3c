import CarillonPostgres

/// How many of the newest rows of each app a page reads: of all apps together so few that nobody waits for them.
enum ReadDepth {
    /// Of one app.
    private static let maxOfOne: Int64 = 5_000
    /// Of all apps together, if they are not too many.
    private static let total: Int64 = 20_000
    private static let minOfEach: Int64 = 50
    /// The most apps that a page of all apps shows: the first by name.
    static let maxApps: Int64 = 500

    /// A subquery: the app named by $1, or the first apps by name if it is null.
    static let chosenApps = """
        SELECT a.id, a.name FROM carillon.apps a WHERE $1 IS NULL OR a.name = $1 ORDER BY a.name LIMIT \(maxApps)
        """

    /// The clause for a statement. In a subquery, the planner does not see the number. If it did, it would choose to sort an app's
    /// rows as soon as it assumes that there are fewer, and would sort all of them.
    static func limit(_ depth: String) -> String { "LIMIT (SELECT (\(depth))::int8)" }

    private static let count = Statement(
        "web_app_count",
        "SELECT count(*) AS apps FROM (SELECT FROM carillon.apps LIMIT \(maxApps + 1)) a"
    )

    /// - Parameter app: The app whose rows are read, or nil for each app.
    static func read(for app: String?, from database: some StatementRunner) async throws -> Int64 {
        app == nil ? each(of: try await appCount(from: database)) : maxOfOne
    }

    /// Of each of so many apps.
    static func each(of apps: Int64) -> Int64 { max(minOfEach, min(maxOfOne, total / max(1, apps))) }

    /// How many apps there are, up to one more than `maxApps`.
    static func appCount(from database: some StatementRunner) async throws -> Int64 {
        try await database.query(count, Parameters()) { rows in try rows.int64(0, "apps") }
    }
}
