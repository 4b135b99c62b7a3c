package import CarillonPostgres
import CarillonText

/// A row of `export_tokens`, without its secret.
package struct ExportTokenRecord: Decodable, Sendable {
    private static let statement = Statement(
        "export_tokens",
        """
        SELECT a.name AS app, t.not_after, extract(epoch FROM t.not_after - now())::int8 / 86400 AS days_left,
            carillon.validity(t.not_after) AS status
        FROM carillon.export_tokens t JOIN carillon.apps a ON a.id = t.app_id WHERE a.moved_to IS NULL ORDER BY a.name
        """
    )

    package let app: String
    package let notAfter: Moment
    let daysLeft: Int64
    let status: CredentialStatus

    package static func all(from database: some StatementRunner) async throws -> [ExportTokenRecord] {
        try await database.values(of: statement)
    }

    /// Nil if nothing is wrong. Pushes do not need the token.
    package var finding: Finding? {
        guard status != .ok else { return nil }
        return Finding(
            .app(app),
            .warning,
            "The export token of \(app) "
                + (status == .expired ? "has expired." : "expires in \(Counted.text(daysLeft, "day"))."),
            remedy: "Make a new one in Apple's console: 'carillon metrics set-token \(app.shellQuoted)' takes it."
        )
    }
}
