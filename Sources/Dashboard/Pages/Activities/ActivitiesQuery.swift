import CarillonPostgres

struct ActivitiesQuery {
    static let maxRows = 100

    private static let statement = Statement(
        "web_activities",
        """
        SELECT n.app, n.token, n.state, n.registered_at, n.ends_at, n.updated_at, n.message_id, n.waiting, n.kind
        FROM carillon.newest_activities(\(maxRows)) AS n
        """
    )

    let database: ServiceRunner
    let tokens: TokenDisplay

    func run() async throws -> ActivitiesView {
        ActivitiesView(activities: try await database.values(of: Self.statement), tokens: tokens)
    }
}
