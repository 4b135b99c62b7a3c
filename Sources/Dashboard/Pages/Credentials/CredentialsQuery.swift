import CarillonPostgres
import CarillonSchema

struct CredentialsQuery {
    static let maxRows = 500

    /// Reads the view, because a reader has no rights on the table of credentials.
    private static let statement = Statement(
        "web_credentials",
        """
        SELECT s.credential AS name, s.credential_status AS status, s.credential_not_after AS not_after,
            \(AppStatus.secondsUntil("s.credential_not_after")) AS expires_in_seconds, s.credential_error AS error,
            array_agg(s.app ORDER BY s.app) AS apps
        FROM carillon.app_status s WHERE s.credential IS NOT NULL
        GROUP BY s.credential, s.credential_status, s.credential_not_after, s.credential_error
        ORDER BY s.credential_not_after NULLS LAST, s.credential LIMIT \(maxRows)
        """
    )

    let database: ServiceRunner

    func run() async throws -> CredentialsView {
        CredentialsView(credentials: try await database.values(of: Self.statement))
    }
}
