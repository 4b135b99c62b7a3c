import CarillonPostgres

/// An app's row with that of its credential.
struct AppWithSecret: Decodable, Sendable {
    let app: App
    /// Differs between any two states of the credential's row.
    var version: Int64?
    /// Nil if it was read before.
    var secret: CredentialText?
    /// When the credential's text was written.
    var credentialSince: Int64?
    /// The row does not have the facts of the credential yet, such as its expiry.
    var lacksFacts = false

    /// The apps with these ids. Credentials that the caller knows in their current version are left out.
    static let statement = Statement(
        "read_apps",
        """
        SELECT \(App.columns), n.version, nullif(n.is_new, false) AS secret, CASE WHEN n.is_new THEN c.certificate END AS certificate,
            CASE WHEN n.is_new THEN c.private_key END AS private_key, CASE WHEN n.is_new THEN c.passphrase END AS passphrase,
            c.key_id, c.team_id, c.updated_at AS credential_since, c.id IS NOT NULL AND c.status IS NULL AS lacks_facts
        FROM \(App.tables)
        LEFT JOIN unnest($2::integer[], $3::bigint[]) AS k(id, version) ON k.id = c.id
        CROSS JOIN LATERAL (SELECT v.version, k.version IS DISTINCT FROM v.version AS is_new
            FROM (SELECT c.xmin::text::bigint AS version) AS v) AS n
        WHERE a.id = ANY ($1)
        """
    )

    /// The apps with these ids, with all their credentials.
    static func all(_ ids: [Int32], on connection: PostgresConnection) async throws(PostgresError) -> [AppWithSecret] {
        try await connection.values(of: statement, parameters(for: ids))
    }

    /// - Parameter versions: Those of the credentials that the caller knows.
    static func parameters(for apps: [Int32], knowing versions: [Int32: Int64] = [:]) -> Parameters {
        Parameters(PostgresArray(apps), PostgresArray(versions.keys), PostgresArray(versions.values))
    }

    /// An app for each credential whose facts are not in its row.
    static let unjudged = Statement(
        "unjudged_apps",
        """
        SELECT min(a.id) AS id FROM carillon.certificates c JOIN carillon.apps a ON a.certificate_id = c.id
        WHERE c.status IS NULL GROUP BY c.id
        """
    )

    /// Any change of an app or a credential changes these numbers.
    static let fingerprint = Statement("fingerprint_apps", "SELECT carillon.apps_fingerprint()")

    var hasNoCredential: Hold {
        Hold(.setting, "App “\(app.name)” has no credential: set its certificate_id.")
    }
}
