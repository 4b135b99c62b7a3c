package import ApplePush
package import CarillonPostgres
import CarillonSchema

/// The credentials in the database, each checked before it is stored.
package struct CredentialStore: Sendable {
    private let connection: PostgresConnection

    /// Nothing else may use the connection meanwhile.
    package init(_ connection: PostgresConnection) { self.connection = connection }

    // MARK: Storing

    /// The server may log what a statement says, but never what `COPY` copies.
    private static let save = """
        COPY carillon.credential_input (name, certificate, private_key, passphrase, key_id, team_id) FROM STDIN (FORMAT binary)
        """

    /// Expiry is judged by the database's clock.
    private static let expiry = Statement(
        "credential_expiry",
        "SELECT CASE WHEN $1 <= now() THEN to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') END"
    )

    private static let remove = Statement("credential_remove", "DELETE FROM carillon.certificates WHERE name = $1")

    /// Checks a credential and stores it under a name, in place of the earlier one. Workers use it within seconds.
    @discardableResult
    package func save(_ text: CredentialText, as name: String) async throws(SettingsError) -> StoredCredential {
        let facts = try text.credential().facts
        return try await settings {
            try await connection.transaction { try await write(text, facts, as: name) }
            return try await find(name)
        }
    }

    /// The statements of `save`, in a transaction of the caller.
    package func write(_ text: CredentialText, _ facts: Credential.Facts, as name: String) async throws {
        try await refuseExpired(facts, "import a newer one")
        try await connection.copy(Self.save, text.row(named: name))
        try await record(facts, of: name)
    }

    /// Stores a credential of another database as it is: it may have expired, or be invalid. Throws if this database has another
    /// one of that name.
    func keep(_ text: CredentialText, as name: String) async throws {
        guard try await ifAny(named: name) == nil else {
            if try await self.text(of: name) == text { return }
            throw SettingsError(
                .nameTaken,
                "The target has another credential named \(name): remove or replace one of the two."
            )
        }
        try await connection.copy(Self.save, text.row(named: name))
    }

    /// - Parameter remedy: what to do about it.
    package func refuseExpired(_ facts: Credential.Facts, _ remedy: String) async throws {
        guard let notAfter = facts.notAfter else { return }
        let parameters = Parameters(Moment(seconds: notAfter))
        let expiry = try await connection.query(Self.expiry, parameters) { try $0.stringIfPresent(0, 0) }
        guard let expiry else { return }
        throw SettingsError(.invalid, "The certificate expired on \(expiry) UTC: \(remedy).")
    }

    /// Removes a credential that no app uses.
    package func remove(_ name: String) async throws(SettingsError) {
        do {
            let credential = try await find(name)
            guard credential.apps.isEmpty else { throw inUse(credential) }
            try await connection.execute(Self.remove, Parameters(name))
        } catch let error as PostgresError where error.sqlState == SQLState.foreignKeyViolation {
            // An app has just begun to use it.
            throw SettingsError(.inUse, "Credential \(name) is in use.", underlying: error)
        } catch {
            throw SettingsError(error)
        }
    }

    private func inUse(_ credential: StoredCredential) -> SettingsError {
        let apps = credential.apps.count == 1 ? "the app" : "the apps"
        return SettingsError(
            .inUse,
            "Credential \(credential.name) is used by \(credential.apps.joined(separator: ", ")): give \(apps) another "
                + "one, or remove \(apps) first."
        )
    }

    // MARK: Reading

    private static let list = Statement(
        "credential_list",
        """
        SELECT c.id, c.name, c.key_id, c.team_id, c.not_after, coalesce(c.topics, '{}') AS topics, c.status, c.last_error,
            ARRAY(SELECT a.name FROM carillon.apps a WHERE a.certificate_id = c.id ORDER BY a.name) AS apps
        FROM carillon.certificates c ORDER BY c.name
        """
    )

    private static let text = Statement(
        "credential_text",
        "SELECT certificate, private_key, passphrase, key_id, team_id FROM carillon.certificates WHERE name = $1"
    )

    /// Every credential, by name.
    package func list() async throws(SettingsError) -> [StoredCredential] {
        try await settings { try await connection.values(of: Self.list) }
    }

    package func ifAny(named name: String?) async throws(SettingsError) -> StoredCredential? {
        try await list().first { $0.name == name }
    }

    func find(_ name: String) async throws(SettingsError) -> StoredCredential {
        let credentials = try await list()
        guard let credential = credentials.first(where: { $0.name == name }) else {
            throw .unknown("credential", name, known: credentials.map(\.name))
        }
        return credential
    }

    package func text(of name: String) async throws -> CredentialText {
        let texts: [CredentialText] = try await connection.values(of: Self.text, Parameters(name))
        guard let text = texts.first else {
            throw SettingsError.unknown("credential", name, known: try await list().map(\.name))
        }
        return text
    }

    // MARK: Checking

    private static let validity = Statement("credential_validity", "SELECT carillon.validity($1)")

    private static let setFacts = Statement(
        "credential_set_facts",
        """
        UPDATE carillon.certificates SET not_after = $2, topics = $3, last_error = NULL, status = carillon.validity($2)
        WHERE name = $1
        """
    )

    private static let setError = Statement(
        "credential_set_error",
        "UPDATE carillon.certificates SET status = 'invalid', last_error = $2 WHERE name = $1"
    )

    /// Checks a stored credential again, and records the result in its row.
    package func check(_ name: String) async throws(SettingsError) -> StoredCredential {
        try await settings {
            let text = try await self.text(of: name)
            do {
                try await record(try text.credential().facts, of: name)
            } catch let error as SettingsError where error.code == .invalid {
                try await connection.execute(Self.setError, Parameters(name, error.message))
            }
            return try await find(name)
        }
    }

    private func record(_ facts: Credential.Facts, of name: String) async throws {
        let notAfter = facts.notAfter.map(Moment.init(seconds:))
        try await connection.execute(Self.setFacts, Parameters(name, notAfter, PostgresArray(facts.topics)))
    }

    /// Every credential with its status now, by its text and the database's clock. Records nothing. A credential that the
    /// gateway has rejected stays rejected.
    package func inspect() async throws(SettingsError) -> [StoredCredential] {
        try await settings {
            var credentials = try await list()
            for index in credentials.indices where credentials[index].status != .rejected {
                let text = try await self.text(of: credentials[index].name)
                do {
                    let facts = try text.credential().facts
                    let notAfter = facts.notAfter.map(Moment.init(seconds:))
                    let parameters = Parameters(notAfter)
                    credentials[index].notAfter = notAfter
                    credentials[index].topics = facts.topics
                    credentials[index].lastError = nil
                    let status: [CredentialStatus] = try await connection.values(of: Self.validity, parameters)
                    credentials[index].status = status.first
                } catch let error as SettingsError where error.code == .invalid {
                    credentials[index].status = .invalid
                    credentials[index].lastError = error.message
                }
            }
            return credentials
        }
    }
}
