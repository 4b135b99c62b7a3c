package import CarillonPostgres

/// What a feedback pass would delete in one table.
package struct ReapPreview: Decodable, Sendable {
    package let app: String
    package let relation: String
    /// Nil if they could not be counted.
    package let tokens: Int64?
    /// Why they could not be counted.
    package let fault: String?

    private static let statement = Statement(
        "reapable",
        "SELECT r.of_app AS app, r.relation, r.tokens, r.fault FROM carillon.reapable($1) AS r"
    )

    package static func read(of app: String?, on connection: PostgresConnection) async throws -> [Self] {
        try await connection.values(of: statement, Parameters(app))
    }
}
