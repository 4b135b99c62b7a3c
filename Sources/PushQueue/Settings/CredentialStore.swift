import ApplePush
package import Postgres

/// The credentials in the database: text that was checked before it was stored.
package struct CredentialStore: Sendable {
    private let connection: PostgresConnection

    /// Only this store uses the connection meanwhile.
    package init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    /// Checks a credential and stores it under a name, in place of what was there. Workers use it within seconds.
    @discardableResult
    package func save(_ text: CredentialText, as name: String) async throws(SettingsError) -> StoredCredential {
        let facts = try text.credential().facts
        return try await settings {
            try await refuseExpired(facts)
            try await connection.transaction {
                try await connection.execute(
                    CredentialStatements.save,
                    CredentialStatements.parameters(text, name)
                )
                try await record(facts, of: name)
            }
            return try await credential(named: name)
        }
    }

    /// Every credential, in order of name.
    package func list() async throws(SettingsError) -> [StoredCredential] {
        try await settings {
            try await connection.query(CredentialStatements.list) { rows in
                try rows.indices.map { try CredentialStatements.credential(rows, $0) }
            }
        }
    }

    /// Looks at a stored credential again, and writes down what it finds.
    package func check(_ name: String) async throws(SettingsError) -> StoredCredential {
        try await settings {
            let text = try await self.text(of: name)
            do {
                try await record(try text.credential().facts, of: name)
            } catch let error as SettingsError where error.code == .invalid {
                let parameters = Parameters(name, error.message)
                try await connection.execute(CredentialStatements.recordError, parameters)
            }
            return try await credential(named: name)
        }
    }

    /// Every credential as it is now by its text and the clock; nothing is written down. What the gateway has said of one
    /// stays.
    package func inspect() async throws(SettingsError) -> [StoredCredential] {
        try await settings {
            var credentials = try await list()
            for place in credentials.indices where credentials[place].status != "rejected" {
                let text = try await self.text(of: credentials[place].name)
                do {
                    let facts = try text.credential().facts
                    let notAfter = facts.notAfter.map { $0 * 1_000_000 }
                    let parameters = CredentialStatements.parameters(until: notAfter)
                    credentials[place].notAfter = notAfter
                    credentials[place].topics = facts.topics
                    credentials[place].lastError = nil
                    credentials[place].status = try await connection.query(
                        CredentialStatements.validity,
                        parameters
                    ) { rows in try rows.string(0, 0) }
                } catch let error as SettingsError where error.code == .invalid {
                    credentials[place].status = "invalid"
                    credentials[place].lastError = error.message
                }
            }
            return credentials
        }
    }

    /// Removes a credential that no app uses.
    package func remove(_ name: String) async throws(SettingsError) {
        do {
            let credential = try await self.credential(named: name)
            guard credential.apps.isEmpty else { throw inUse(credential) }
            let parameters = Parameters(name)
            try await connection.execute(CredentialStatements.remove, parameters)
        } catch let error as PostgresError where error.sqlState == "23503" {  // an app has just begun to use it
            throw SettingsError(.inUse, "Credential \(name) is in use.", underlying: error)
        } catch {
            throw SettingsError(error)
        }
    }

    private func inUse(_ credential: StoredCredential) -> SettingsError {
        let them = credential.apps.count == 1 ? "it" : "them"
        return SettingsError(
            .inUse,
            "Credential \(credential.name) is used by \(credential.apps.joined(separator: ", ")): give \(them) another "
                + "one, or remove \(them) first."
        )
    }

    private func refuseExpired(_ facts: Credential.Facts) async throws {
        guard let notAfter = facts.notAfter else { return }
        let parameters = Parameters(Timestamp(notAfter * 1_000_000))
        let expiry = try await connection.query(CredentialStatements.expiry, parameters) { rows in
            try rows.stringIfPresent(0, 0)
        }
        guard let expiry else { return }
        throw SettingsError(.invalid, "The certificate expired on \(expiry) UTC: import a newer one.")
    }

    private func record(_ facts: Credential.Facts, of name: String) async throws {
        let parameters = Parameters(name, Timestamp(facts.notAfter.map { $0 * 1_000_000 }), PostgresArray(facts.topics))
        try await connection.execute(CredentialStatements.record, parameters)
    }

    private func text(of name: String) async throws -> CredentialText {
        let parameters = Parameters(name)
        let text = try await connection.query(CredentialStatements.text, parameters) { rows in
            rows.isEmpty ? nil : try CredentialStatements.text(rows, 0)
        }
        guard let text else { throw try await unknown(name) }
        return text
    }

    private func credential(named name: String) async throws -> StoredCredential {
        let credentials = try await list()
        guard let credential = credentials.first(where: { $0.name == name }) else { throw try await unknown(name) }
        return credential
    }

    private func unknown(_ name: String) async throws -> SettingsError {
        .unknown("credential", name, known: try await list().map(\.name))
    }
}
