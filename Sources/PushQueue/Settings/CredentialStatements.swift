import Postgres

/// The statements about credentials, and how their rows are read.
enum CredentialStatements {
    static let save = Statement(
        "credential_save",
        """
        INSERT INTO carillon.certificates (name, certificate, private_key, passphrase, key_id, team_id)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (name) DO UPDATE SET certificate = excluded.certificate, private_key = excluded.private_key,
            passphrase = excluded.passphrase, key_id = excluded.key_id, team_id = excluded.team_id
        """
    )

    /// By the database's clock, too.
    static let validity = Statement(
        "credential_validity",
        """
        SELECT CASE WHEN $1 <= now() THEN 'expired' WHEN $1 <= now() + interval '30 days' THEN 'expiring' ELSE 'ok' END
        """
    )

    /// The database's clock says what has expired.
    static let expiry = Statement(
        "credential_expiry",
        "SELECT CASE WHEN $1 <= now() THEN to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') END"
    )

    static let record = Statement(
        "credential_record",
        """
        UPDATE carillon.certificates SET not_after = $2, topics = $3, last_error = NULL, status = CASE
            WHEN $2 <= now() THEN 'expired' WHEN $2 <= now() + interval '30 days' THEN 'expiring' ELSE 'ok' END
        WHERE name = $1
        """
    )

    static let recordError = Statement(
        "credential_record_error",
        "UPDATE carillon.certificates SET status = 'invalid', last_error = $2 WHERE name = $1"
    )

    static let list = Statement(
        "credential_list",
        """
        SELECT c.id, c.name, c.key_id, c.team_id, c.not_after, c.topics, c.status, c.last_error, c.updated_at,
            ARRAY(SELECT a.name FROM carillon.apps a WHERE a.certificate_id = c.id ORDER BY a.name) AS apps
        FROM carillon.certificates c ORDER BY c.name
        """
    )

    static let text = Statement(
        "credential_text",
        """
        SELECT certificate, private_key, passphrase, key_id, team_id FROM carillon.certificates WHERE name = $1
        """
    )

    static let remove = Statement("credential_remove", "DELETE FROM carillon.certificates WHERE name = $1")

    static func parameters(_ text: CredentialText, _ name: String) -> Parameters {
        var parameters = Parameters()
        for value in [name, text.certificate, text.privateKey, text.passphrase, text.keyID, text.teamID] {
            parameters.append(value)
        }
        return parameters
    }

    static func credential(_ rows: borrowing Rows, _ row: Int) throws -> StoredCredential {
        let keyID = try rows.stringIfPresent(row, "key_id")
        return StoredCredential(
            id: try rows.int32(row, "id"),
            name: try rows.string(row, "name"),
            kind: keyID == nil ? .certificate : .token,
            keyID: keyID,
            teamID: try rows.stringIfPresent(row, "team_id"),
            notAfter: try rows.timestampIfPresent(row, "not_after"),
            topics: try rows.isNull(row, "topics") ? [] : rows.strings(row, "topics").compactMap { $0 },
            status: try rows.stringIfPresent(row, "status"),
            lastError: try rows.stringIfPresent(row, "last_error"),
            updatedAt: try rows.timestamp(row, "updated_at"),
            apps: try rows.strings(row, "apps").compactMap { $0 }
        )
    }

    static func parameters(until notAfter: Int64?) -> Parameters {
        Parameters(Timestamp(notAfter))
    }

    static func text(_ rows: borrowing Rows, _ row: Int) throws -> CredentialText {
        CredentialText(
            certificate: try rows.stringIfPresent(row, "certificate"),
            privateKey: try rows.stringIfPresent(row, "private_key"),
            passphrase: try rows.stringIfPresent(row, "passphrase"),
            keyID: try rows.stringIfPresent(row, "key_id"),
            teamID: try rows.stringIfPresent(row, "team_id")
        )
    }
}
