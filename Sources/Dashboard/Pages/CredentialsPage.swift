import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct CredentialsQuery {
    /// From the view, since a reader has no right on the credentials themselves.
    private static let statement = Statement(
        "web_credentials",
        """
        SELECT s.credential AS name, s.credential_status AS status, s.credential_not_after AS not_after,
            extract(epoch FROM s.credential_not_after - now())::int8 AS expires_in_seconds, s.credential_error AS error,
            array_agg(s.app ORDER BY s.app) AS apps
        FROM carillon.app_status s WHERE s.credential IS NOT NULL
        GROUP BY s.credential, s.credential_status, s.credential_not_after, s.credential_error
        ORDER BY s.credential_not_after NULLS LAST, s.credential LIMIT 500
        """
    )

    let database: WebDatabase

    func run() async throws -> CredentialsView {
        CredentialsView(credentials: try await database.values(of: Self.statement))
    }
}

struct CredentialRow: RowReadable, JSONConvertible {
    let name: String
    let status: String?
    let end: Moment?
    /// Seconds.
    let expiresIn: Int64?
    let error: String?
    let apps: [String]

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, "name")
        status = try rows.stringIfPresent(row, "status")
        end = try rows.timestampIfPresent(row, "not_after").map(Moment.init)
        expiresIn = try rows.int64IfPresent(row, "expires_in_seconds")
        error = try rows.stringIfPresent(row, "error")
        apps = try rows.strings(row, "apps").compactMap { $0 }
    }

    var json: JSONValue {
        [
            "name": name, "status": status, "not_after": end, "expires_in_seconds": expiresIn, "error": error,
            "apps": apps,
        ]
    }
}

/// The credentials that apps use: their names and states, nothing of what is in them.
struct CredentialsView: PageView {
    let credentials: [CredentialRow]

    var title: String { "Credentials" }
    var section: PageSection { .credentials }
    var refreshInterval: Int? { 60 }

    @HTMLBuilder var content: HTML {
        HTML(.p, .class("note")) {
            "The credentials that an app uses. Their certificates and keys cannot be read here; 'carillon credential list' shows "
                + "those that no app uses, too."
        }
        if credentials.isEmpty {
            HTML(.p) { "No app has a credential." }
        } else {
            DataTable(
                Counted.text(Int64(credentials.count), "credential"),
                credentials,
                .text("Credential") { HTML($0.name) },
                .text("State") { StateMark.ofCredential($0.status).html($0.status ?? "not checked yet") },
                .number("Days left") { $0.expiresIn.map { Int($0 / 86_400).grouped } ?? "–" },
                .text("Expires") { $0.end?.html ?? HTML("never") },
                .text("Apps") { row in
                    HTML(.ul, .class("inline")) {
                        for app in row.apps.prefix(20) { HTML(.li) { HTML(.a, .href(Link("apps", app))) { app } } }
                        if row.apps.count > 20 { HTML(.li) { "and \(row.apps.count - 20) more" } }
                    }
                },
                .text("What is wrong") { HTML($0.error ?? "–") }
            ).html
        }
    }

    var json: JSONValue { ["credentials": credentials] }
}
