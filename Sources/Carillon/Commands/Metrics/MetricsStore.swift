import CarillonPostgres

/// What Apple has counted, and the export tokens, in the database.
struct MetricsStore: Sendable {
    struct Change: Decodable, Sendable {
        let added: Int64
        let changed: Int64
    }

    /// A row of `export_tokens`, with its secret.
    struct ExportToken: Decodable, Sendable {
        let app: String
        let topic: String?
        let token: String
        let teamID: String
    }

    private static let store = Statement(
        "metrics_store",
        "SELECT s.* FROM carillon.store_metrics($1, $2, $3, $4, $5) AS s"
    )
    private static let tokens = Statement(
        "metrics_tokens",
        """
        SELECT a.name AS app, a.topic, t.token, t.team_id FROM carillon.export_tokens t JOIN carillon.apps a ON a.id = t.app_id
        WHERE a.moved_to IS NULL AND ($1::text IS NULL OR a.name = $1) ORDER BY a.name
        """
    )
    /// The server may log what a statement says, but never what `COPY` copies.
    private static let save =
        "COPY carillon.export_token_input (app, token, team_id, not_after) FROM STDIN (FORMAT binary)"
    private static let remove = Statement("metrics_remove_token", "SELECT carillon.remove_export_token($1)")

    /// Nothing else may use it meanwhile.
    let connection: PostgresConnection

    /// Storing counts again changes nothing.
    func store(_ counts: [MetricsReader.Count], of app: String) async throws -> Change {
        let parameters = Parameters(
            app,
            PostgresArray(counts.map(\.day)),
            PostgresArray(counts.map(\.pushType)),
            PostgresArray(counts.map(\.status)),
            PostgresArray(counts.map(\.count))
        )
        return try await connection.query(Self.store, parameters) { try $0.record(0) }
    }

    /// - Parameter app: nil for all that have one.
    func tokens(of app: String?) async throws -> [ExportToken] {
        try await connection.values(of: Self.tokens, Parameters(app))
    }

    /// - Parameters:
    ///   - team: nil for that of the app's signing key.
    ///   - end: when it expires, in microseconds since 1970.
    func save(_ token: String, of app: String, team: String?, end: Int64) async throws {
        var row = CopyRows()
        row.begin(columns: 4)
        for part in [app, token, team] { row.append(part) }
        row.append(timestamp: end)
        try await connection.copy(Self.save, row)
    }

    /// False if there is none.
    func removeToken(of app: String) async throws -> Bool {
        try await connection.query(Self.remove, Parameters(app)) { try $0.bool(0, 0) }
    }
}
