import ApplePush
import Postgres

/// An app's row with that of its certificate, as they were read.
struct AppRow: Sendable {
    /// What a credential is made from, and then forgotten.
    struct Secret: Sendable {
        let certificate: String?
        let privateKey: String?
        let passphrase: String?
        let keyID: String?
        let teamID: String?
    }

    let id: Int32
    let name: String
    let topic: String?
    let environment: String
    let `protocol`: String
    let gateway: String?
    let gatewayAuthority: String?
    let isPaused: Bool
    let mostRate: Int32?
    let mostAttempts: Int32
    let certificate: Int32?
    /// Tells one state of the certificate's row from any other.
    let version: Int64?
    /// Nil: it was read before.
    let secret: Secret?
    /// When the credential's text was written, which tells one credential of that row from the next.
    var credentialSince: Int64?
    /// What the credential says is not in its row.
    var isUnjudged = false
    var feedbackGateway: String?

    /// The apps asked for. Credentials come along only if they are not those that the caller knows already.
    static let statement = Statement(
        "read_apps",
        """
        SELECT a.id, a.name, a.topic, a.environment, a.protocol, a.gateway, a.gateway_ca, a.paused, a.max_rate,
            a.max_attempts, a.certificate_id, n.version, n.is_new, CASE WHEN n.is_new THEN c.certificate END AS certificate,
            CASE WHEN n.is_new THEN c.private_key END AS private_key, CASE WHEN n.is_new THEN c.passphrase END AS passphrase,
            c.key_id, c.team_id, c.updated_at, c.id IS NOT NULL AND c.status IS NULL AS is_unjudged, a.feedback_gateway
        FROM carillon.apps a
        LEFT JOIN carillon.certificates c ON c.id = a.certificate_id
        LEFT JOIN unnest($2::integer[], $3::bigint[]) AS k(id, version) ON k.id = c.id
        CROSS JOIN LATERAL (SELECT v.version, k.version IS DISTINCT FROM v.version AS is_new
            FROM (SELECT c.xmin::text::bigint AS version) AS v) AS n
        WHERE a.id = ANY ($1)
        """
    )

    /// An app for each credential whose row does not tell what it says.
    static let unjudged = Statement(
        "unjudged_apps",
        """
        SELECT min(a.id) FROM carillon.certificates c JOIN carillon.apps a ON a.certificate_id = c.id
        WHERE c.status IS NULL GROUP BY c.id
        """
    )

    /// Any change of an app or a certificate changes these numbers.
    static let fingerprint = Statement(
        "fingerprint_apps",
        """
        SELECT (SELECT count(*) FROM carillon.apps) AS apps,
            (SELECT coalesce(sum(a.xmin::text::bigint), 0)::bigint FROM carillon.apps a) AS app_versions,
            (SELECT count(*) FROM carillon.certificates) AS credentials,
            (SELECT coalesce(sum(c.xmin::text::bigint), 0)::bigint FROM carillon.certificates c) AS credential_versions
        """
    )

    /// Where the app's pushes go.
    func destination() throws(Trouble) -> Gateway {
        guard self.protocol == "http2" else {
            throw Trouble(
                .setting,
                "App “\(name)” asks for the binary protocol; Apple has switched it off. Set it to http2."
            )
        }
        guard let gateway else { return environment == "sandbox" ? .sandbox : .production }
        return try self.gateway(at: gateway)
    }

    /// Where the app's legacy feedback list is read.
    func feedbackDestination() throws(Trouble) -> Gateway {
        guard let feedbackGateway else { return environment == "sandbox" ? .feedbackSandbox : .feedback }
        return try gateway(at: feedbackGateway)
    }

    var hasNoCredential: Trouble {
        Trouble(.setting, "App “\(name)” has no credential: set its certificate_id.")
    }

    /// A gateway that was set for the app, with the trust root that was set for it.
    private func gateway(at address: String) throws(Trouble) -> Gateway {
        do {
            return try Gateway(address, trust: gatewayAuthority.map { .pem($0) } ?? .system)
        } catch {
            throw Trouble(.setting, error.message)
        }
    }
}

extension AppRow {
    /// Reads a row of the statement's.
    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        id = try rows.int32(row, "id")
        name = try rows.string(row, "name")
        topic = try rows.stringIfPresent(row, "topic")
        environment = try rows.string(row, "environment")
        self.protocol = try rows.string(row, "protocol")
        gateway = try rows.stringIfPresent(row, "gateway")
        gatewayAuthority = try rows.stringIfPresent(row, "gateway_ca")
        isPaused = try rows.bool(row, "paused")
        mostRate = try rows.int32IfPresent(row, "max_rate")
        mostAttempts = try rows.int32(row, "max_attempts")
        certificate = try rows.int32IfPresent(row, "certificate_id")
        version = try rows.int64IfPresent(row, "version")
        credentialSince = try rows.timestampIfPresent(row, "updated_at")
        isUnjudged = try rows.bool(row, "is_unjudged")
        feedbackGateway = try rows.stringIfPresent(row, "feedback_gateway")
        guard try rows.bool(row, "is_new") else {
            secret = nil
            return
        }
        secret = Secret(
            certificate: try rows.stringIfPresent(row, "certificate"),
            privateKey: try rows.stringIfPresent(row, "private_key"),
            passphrase: try rows.stringIfPresent(row, "passphrase"),
            keyID: try rows.stringIfPresent(row, "key_id"),
            teamID: try rows.stringIfPresent(row, "team_id")
        )
    }
}

extension AppRow.Secret {
    func credential() throws(Trouble) -> Credential {
        do {
            if let keyID, let teamID, let privateKey {
                return try Credential(signingKey: privateKey, keyID: keyID, teamID: teamID)
            }
            return try Credential(
                certificate: certificate ?? "",
                privateKey: privateKey,
                passphrase: passphrase
            )
        } catch {
            throw Trouble(.credential, error.message)
        }
    }
}
