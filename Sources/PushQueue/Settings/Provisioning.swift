import ApplePush
package import CarillonPostgres

/// An app as a client of pyapns describes it: a certificate and an environment. It becomes a credential and an app.
package struct Provisioning: Sendable {
    package enum Change: Sendable {
        /// The database has it as it is described.
        case nothing
        case added
        case changed
    }

    private static let present = Statement(
        "provisioning_present",
        """
        SELECT a.environment, c.certificate, c.private_key IS NULL AS has_key_inside
        FROM carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id WHERE a.name = $1
        """
    )

    /// Processes of an application start, and provision, at the same time. The lock ends with the transaction.
    private static let lock = Statement(
        "provisioning_lock",
        "SELECT pg_advisory_xact_lock(hashtextextended('carillon.provision ' || $1, 0))"
    )

    private let app: String
    private let text: CredentialText
    private let environment: String

    /// - Parameters:
    ///   - certificate: PEM, with the key in it.
    ///   - environment: production or sandbox.
    package init(app: String, certificate: String, environment: String) {
        self.app = app
        self.environment = environment
        text = CredentialText(certificate: certificate)
    }

    /// Adds the app or changes it; all of it, or nothing. The app's gateway and its other settings stay. Nothing else may use
    /// the connection meanwhile.
    package func run(on connection: PostgresConnection) async throws(SettingsError) -> Change {
        let facts = try text.credential().facts
        return try await settings {
            if try await isPresent(on: connection) { return .nothing }
            return try await connection.transaction {
                try await connection.execute(Self.lock, Parameters(app))
                if try await isPresent(on: connection) { return .nothing }
                return try await write(topics: facts.topics, on: connection)
            }
        }
    }

    private func isPresent(on connection: PostgresConnection) async throws -> Bool {
        try await connection.query(Self.present, Parameters(app)) { rows in
            guard !rows.isEmpty else { return false }
            return try rows.string(0, "environment") == environment && rows.bool(0, "has_key_inside")
                && rows.stringIfPresent(0, "certificate") == text.certificate
        }
    }

    private func write(topics: [String], on connection: PostgresConnection) async throws -> Change {
        let (apps, credentials) = (AppStore(connection), CredentialStore(connection))
        let others = try await credentials.list().first { $0.name == app }?.apps.filter { $0 != app } ?? []
        guard others.isEmpty else {
            throw SettingsError(
                .inUse,
                "The credential \(app) is used by \(others.joined(separator: ", ")) too, so it was not changed: give "
                    + "\(others.count == 1 ? "that app" : "those apps") another one with 'carillon app set'."
            )
        }
        try await credentials.write(text, try text.credential().facts, as: app)
        let earlier = try await apps.locked(app)
        var new = earlier ?? AppSettings(name: app)
        new.environment = environment
        new.credential = app
        // A client of pyapns names no topic: it is the certificate's.
        if new.topic.map({ !StoredCredential.allows($0, among: topics) }) ?? true { new.topic = topics.first }
        if earlier == nil { try await apps.insert(new) } else { try await apps.update(app, to: new) }
        return earlier == nil ? .added : .changed
    }
}
