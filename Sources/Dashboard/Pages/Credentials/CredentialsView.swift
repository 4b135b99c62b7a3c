import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Lists the credentials that apps use: names and states, never their content.
struct CredentialsView: PageView {
    private static let maxRows = 500

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

    let credentials: [CredentialRow]

    init(from database: ServiceRunner) async throws { credentials = try await database.values(of: Self.statement) }

    var title: String { "Credentials" }
    var section: PageSection { .credentials }
    var refreshInterval: Int? { 60 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        HTML(.p, .class("note")) {
            "The credentials that apps use. Their certificates and keys cannot be read here; 'carillon credential list' shows "
                + "those that no app uses too."
        }
        DataTable(
            (precision == .exact ? "" : "The first ") + Counted.text(Int64(credentials.count), "credential"),
            credentials,
            orSay: "No app has a credential.",
            .text("Credential") { HTML($0.name) },
            .text("State") { StateMark.ofCredential($0.status).html($0.status?.rawValue ?? "not checked yet") },
            .number("Days left") { $0.expiresIn.map { Int($0 / 86_400).grouped } ?? "–" },
            .text("Expires") { $0.end?.html ?? HTML("never") },
            .text("Apps") { row in
                HTML(.ul, .class("inline")) {
                    for app in row.apps.prefix(20) { HTML(.li) { HTML.app(app) } }
                    if row.apps.count > 20 { HTML(.li) { "and \(row.apps.count - 20) more" } }
                }
            },
            .text("What is wrong") { HTML($0.error ?? "–") }
        ).html
    }

    private var precision: Amount.Precision { .init(isCut: credentials.count == Self.maxRows) }

    var json: JSONValue { ["credentials": credentials, "credentials_precision": precision] }
}
