import CarillonPostgres
import CarillonSchema
import CarillonWeb

/// Finds a message by its id.
struct MessageQuery {
    /// How many rows of each lane are read to find a retry that is due, which no index finds.
    private static let retryDepth = 1_000

    private static let message = Statement(
        "web_message",
        """
        SELECT \(MessageStatus.columns) FROM carillon.message_status(id => $1, app => $2, max_rows_read => \(retryDepth)) AS m ORDER BY m.app LIMIT 20
        """
    )

    let database: ServiceRunner
    let id: Int64
    let app: String?

    init(database: ServiceRunner, _ request: Request, app: String?) throws {
        guard let id = request.pathParameters["id"].flatMap(Int64.init), id > 0 else {
            throw RequestError.notMessageID
        }
        self.database = database
        self.id = id
        self.app = app
    }

    /// At least one message: that of the named app, or one of each app.
    func messages() async throws -> [MessageStatus] {
        let found = try await messagesIfAny()
        guard !found.isEmpty else {
            throw RequestError.notFound(
                "There is no message \(id)\(app.map { " of app \($0)" } ?? "").",
                hint: "Messages that have ended are deleted after the workers' --retention."
            )
        }
        return found
    }

    func messagesIfAny() async throws -> [MessageStatus] {
        try await database.values(of: Self.message, Parameters(id, app))
    }
}
