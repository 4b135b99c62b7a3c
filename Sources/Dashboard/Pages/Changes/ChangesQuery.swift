import CarillonPostgres
import CarillonWeb

/// Reads what people have changed, newest first.
struct ChangesQuery {
    static let pageLength: Int64 = 50

    private static let all = statement("web_changes", where: "c.id < $1")
    private static let ofApp = statement("web_app_changes", where: "c.app = $3 AND c.id < $1")

    /// $1: only changes before this one; $2: how many; $3: the name of the app.
    private static func statement(_ name: String, where condition: String) -> Statement {
        Statement(
            name,
            """
            SELECT c.id, c.at, c.actor, c.on_behalf_of, c.source, c.action, c.app, c.details::json AS details,
                c.details ->> 'message_id' AS message_id
            FROM carillon.audit c
            WHERE \(condition) ORDER BY c.id DESC LIMIT $2
            """
        )
    }

    let database: ServiceRunner
    let app: String?
    let before: Int64?

    init(database: ServiceRunner, _ request: Request) throws {
        self.database = database
        app = request.filled("app")
        before = request.parameter("before").flatMap(Int64.init)
        if request.parameter("before") != nil, before == nil {
            throw RequestError.badRequest("'before' is the number of a change.")
        }
    }

    func run() async throws -> ChangesView {
        let changes = try await Self.changes(from: database, app: app, before: before, maxRows: Self.pageLength)
        return ChangesView(app: app, isFirst: before == nil, changes: changes)
    }

    static func changes(
        from database: ServiceRunner,
        app: String?,
        before: Int64? = nil,
        maxRows: Int64
    ) async throws -> [Change] {
        let before = before ?? .max
        guard let app else { return try await database.values(of: all, Parameters(before, maxRows)) }
        return try await database.values(of: ofApp, Parameters(before, maxRows, app))
    }
}
