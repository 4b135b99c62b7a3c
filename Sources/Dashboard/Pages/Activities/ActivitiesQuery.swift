import CarillonPostgres

/// Reads the Live Activities in progress.
struct ActivitiesQuery {
    static let count = 100

    private static let statement = Statement(
        "web_activities",
        """
        SELECT n.app, n.token, n.state, n.registered_at, n.ends_at, n.updated_at, n.message_id, n.waiting
        FROM carillon.newest_activities(\(count)) AS n
        """
    )

    let database: WebDatabase
    let tokens: TokenDisplay

    func run() async throws -> ActivitiesView {
        ActivitiesView(activities: try await database.values(of: Self.statement), tokens: tokens)
    }
}
