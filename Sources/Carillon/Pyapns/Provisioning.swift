import ApplePush
import CarillonPostgres
import CarillonPushQueue
import CarillonText

/// An app as a client of pyapns describes it: a certificate and an environment. It becomes a credential and an app.
struct Provisioning: Sendable {
    enum Change: Sendable {
        /// The database has it as it is described.
        case nothing
        /// The app keeps what it has, for that reason.
        case kept(Terms, reason: String)
        case added(Terms)
        case changed(from: Terms, to: Terms)
    }

    /// What a provision may change, for the log.
    struct Terms: Equatable, Sendable {
        var credential: String?
        var topic: String?
        var environment: AppSettings.Environment
        /// When the certificate expires, in seconds since 1970.
        var notAfter: Int64?
    }

    private static let present = Statement(
        "provisioning_present",
        """
        SELECT a.environment, c.certificate, c.private_key IS NULL AS has_key_inside
        FROM carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id WHERE a.name = $1
        """
    )

    private let app: String
    private let text: CredentialText
    private let environment: AppSettings.Environment
    private let adds: Bool
    private let replaces: Bool

    /// - Parameters:
    ///   - certificate: PEM, with the key in it.
    ///   - adds: whether an app that does not exist is added.
    ///   - replaces: whether the certificate of an app that exists is replaced by a newer one.
    init(app: String, certificate: String, environment: AppSettings.Environment, adds: Bool, replaces: Bool) {
        self.app = app
        self.environment = environment
        self.adds = adds
        self.replaces = replaces
        text = CredentialText(certificate: certificate)
    }

    /// Adds the app, or gives it the certificate if that is newer; all of it, or nothing. Clients provision at each start, some
    /// with an old certificate for years. So nothing that is newer is replaced, and that is no error: the app can send. What
    /// the client and the database disagree on, the topic and the environment, is an error. Nothing else may use the connection
    /// meanwhile.
    func run(on connection: PostgresConnection) async throws(SettingsError) -> Change {
        let facts = try text.credential().facts
        guard !facts.topics.isEmpty else {
            throw SettingsError(.invalid, "The certificate is for no topic, so it is not one for pushes.")
        }
        do {
            if try await isPresent(on: connection) { return .nothing }
            do {
                return try await apply(facts, on: connection)
            } catch let error as PostgresError where error.constraint == "apps_name_is_unique" {
                // Processes of an application start, and provision, at the same time: another one has just added the app.
                return try await apply(facts, on: connection)
            }
        } catch {
            throw SettingsError(error)
        }
    }

    private func apply(_ facts: Credential.Facts, on connection: PostgresConnection) async throws -> Change {
        try await connection.transaction {
            guard let present = try await AppStore(connection).locked(app) else {
                return try await add(facts, on: connection)
            }
            return try await change(present, facts, on: connection)
        }
    }

    private func isPresent(on connection: PostgresConnection) async throws -> Bool {
        try await connection.query(Self.present, Parameters(app)) { rows in
            guard !rows.isEmpty else { return false }
            return try rows.string(0, "environment") == environment.rawValue && rows.bool(0, "has_key_inside")
                && rows.stringIfPresent(0, "certificate") == text.certificate
        }
    }

    private func add(_ facts: Credential.Facts, on connection: PostgresConnection) async throws -> Change {
        guard adds else {
            throw SettingsError(
                .unknownName,
                "There is no app \(app), and this service adds none: add it with 'carillon app add', or start carillon pyapns "
                    + "with --add-apps."
            )
        }
        try refuseForApple(facts)
        try await store(facts, on: connection)
        var new = AppSettings(name: app)
        new.environment = environment
        new.credential = app
        // A client of pyapns names no topic: it is the certificate's.
        new.topic = facts.topics.first
        try await AppStore(connection).insert(new)
        return .added(Terms(new, facts))
    }

    private func change(
        _ present: AppSettings,
        _ facts: Credential.Facts,
        on connection: PostgresConnection
    ) async throws -> Change {
        var stored: CredentialText?
        if let name = present.credential { stored = try await CredentialStore(connection).text(of: name) }
        // Nil as well if it cannot be used: then any other is better.
        let storedFacts = stored.flatMap { try? $0.credential().facts }
        let earlier = Terms(present, storedFacts)
        if let topic = earlier.topic, !StoredCredential.allows(topic, among: facts.topics) {
            throw SettingsError(
                .invalid,
                "The app \(app) has the topic \(topic), and this certificate is for "
                    + "\(facts.topics.joined(separator: ", ")): provision it under another app_id, or change the app with "
                    + "'carillon app set'."
            )
        }
        // A gateway of the app's own is the same in both environments.
        guard environment == present.environment || present.gateway != nil else {
            throw SettingsError(
                .invalid,
                "The app \(app) is in the environment \(present.environment), not \(environment): provision it there, or "
                    + "change it with 'carillon app set \(app.shellQuoted) --environment \(environment)'."
            )
        }
        if stored?.certificate == text.certificate { return .nothing }
        guard replaces else { return .kept(earlier, reason: "the service was started without --replace-credentials") }
        if let reason = Self.reasonToKeep(stored, storedFacts, for: facts) { return .kept(earlier, reason: reason) }
        if present.gateway == nil { try refuseForApple(facts) }
        try await store(facts, on: connection)
        var new = present
        new.credential = app
        new.topic = earlier.topic ?? facts.topics.first
        try await AppStore(connection).update(app, to: new)
        return .changed(from: earlier, to: Terms(new, facts))
    }

    private static func reasonToKeep(
        _ stored: CredentialText?,
        _ storedFacts: Credential.Facts?,
        for facts: Credential.Facts
    ) -> String? {
        if stored?.keyID != nil { return "it has a signing key" }
        guard stored != nil, let storedFacts else { return nil }
        return (storedFacts.notAfter ?? 0) >= (facts.notAfter ?? 0) ? "its certificate is valid for longer" : nil
    }

    /// No signature is checked: this keeps out any certificate but Apple's, unless somebody has copied Apple's extensions into it.
    private func refuseForApple(_ facts: Credential.Facts) throws(SettingsError) {
        guard facts.isForPushes else {
            throw SettingsError(
                .invalid,
                "The certificate has none of the extensions of Apple's push certificates, and the app \(app) sends to Apple: "
                    + "provision one that Apple has issued for pushes, or first give the app a gateway of its own with "
                    + "'carillon app add' or 'carillon app set'."
            )
        }
    }

    private func refuseShared(on connection: PostgresConnection) async throws {
        let others = try await CredentialStore(connection).ifAny(named: app)?.apps.filter { $0 != app } ?? []
        guard others.isEmpty else {
            throw SettingsError(
                .inUse,
                "The credential \(app) is used by \(others.joined(separator: ", ")) too, so it was not changed: give "
                    + "\(others.count == 1 ? "that app" : "those apps") another one with 'carillon app set'."
            )
        }
    }

    /// Stores the certificate as the credential of the app's name. One that was imported under that name stays if it is newer, if
    /// other apps use it, or if nothing is to be replaced.
    private func store(_ facts: Credential.Facts, on connection: PostgresConnection) async throws {
        let credentials = CredentialStore(connection)
        try await credentials.refuseExpired(facts, "provision a newer one")
        if try await credentials.ifAny(named: app) != nil {
            let stored = try await credentials.text(of: app)
            if stored.certificate == text.certificate, stored.privateKey == nil { return }
            if let reason = Self.reasonToKeep(stored, try? stored.credential().facts, for: facts) {
                throw SettingsError(
                    .inUse,
                    "There is a credential \(app) that is not replaced, because "
                        + "\(stored.keyID == nil ? reason : "it is a signing key"): give it to the app with 'carillon "
                        + "app add' or 'carillon app set', or remove it with 'carillon credential remove \(app.shellQuoted)'."
                )
            }
            guard replaces else {
                throw SettingsError(
                    .inUse,
                    "There is a credential \(app) with another certificate, and this service replaces none: give it to the app "
                        + "with 'carillon app add' or 'carillon app set'."
                )
            }
            try await refuseShared(on: connection)
        }
        try await credentials.write(text, facts, as: app)
    }
}

extension Provisioning.Terms {
    fileprivate init(_ app: AppSettings, _ facts: Credential.Facts?) {
        credential = app.credential
        topic = app.topic ?? facts?.topics.first
        environment = app.environment
        notAfter = facts?.notAfter
    }
}
