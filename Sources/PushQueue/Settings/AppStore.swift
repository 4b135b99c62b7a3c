package import Postgres

/// The apps in the database.
package struct AppStore: Sendable {
    private let connection: PostgresConnection

    /// Only this store uses the connection meanwhile.
    package init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    @discardableResult
    package func add(_ app: NewApp) async throws(SettingsError) -> StoredApp {
        do {
            let credential = try await self.credential(of: app)
            if let problem = app.problem(with: credential) { throw problem }
            try await connection.execute(AppStatements.add, AppStatements.parameters(app, credential?.id))
            return try await self.app(named: app.name)
        } catch let error as PostgresError where error.constraint == "apps_name_is_unique" {
            throw SettingsError(
                .nameTaken,
                "There is an app named \(app.name) already: choose another name, or change that one with 'carillon app set'.",
                underlying: error
            )
        } catch {
            throw SettingsError(error)
        }
    }

    /// Changes what is set of an app; all of it, or nothing.
    @discardableResult
    package func change(_ name: String, _ change: AppChange) async throws(SettingsError) -> StoredApp {
        do {
            let named = AppStatements.parameters(name: name)
            let changed = try await connection.transaction {
                let settings = try await connection.query(AppStatements.settings, named) { rows in
                    rows.isEmpty ? nil : try AppStatements.settings(rows, 0)
                }
                guard var app = settings else {
                    throw SettingsError.unknown("app", name, known: try await list().map(\.name))
                }
                change.apply(to: &app)
                let credential = try await self.credential(of: app)
                if let problem = app.problem(with: credential) { throw problem }
                var parameters = AppStatements.parameters(app, credential?.id)
                parameters.append(name)
                try await connection.execute(AppStatements.change, parameters)
                return app.name
            }
            return try await self.app(named: changed)
        } catch let error as PostgresError where error.constraint == "apps_name_is_unique" {
            throw SettingsError(.nameTaken, "There is an app of that name already: choose another.", underlying: error)
        } catch {
            throw SettingsError(error)
        }
    }

    /// The app of that name.
    package func find(_ name: String) async throws(SettingsError) -> StoredApp {
        try await settings {
            try await app(named: name)
        }
    }

    private static let names = Statement("app_names", "SELECT a.name FROM carillon.apps a ORDER BY a.name")

    /// Fails when there is no app of that name. It reads names alone, which every role may.
    package func require(_ name: String) async throws(SettingsError) {
        try await settings {
            let names = try await connection.query(Self.names) { rows in
                try rows.indices.map { try rows.string($0, 0) }
            }
            guard !names.contains(name) else { return }
            throw SettingsError.unknown("app", name, known: names)
        }
    }

    /// Every app, in order of name.
    package func list() async throws(SettingsError) -> [StoredApp] {
        try await settings {
            try await connection.query(AppStatements.list) { rows in
                try rows.indices.map { try AppStatements.app(rows, $0) }
            }
        }
    }

    /// Keeps its pushes waiting until it is resumed.
    @discardableResult
    package func pause(_ name: String) async throws(SettingsError) -> StoredApp {
        try await setPaused(true, name)
    }

    @discardableResult
    package func resume(_ name: String) async throws(SettingsError) -> StoredApp {
        try await setPaused(false, name)
    }

    /// What would go with an app, if it may be removed: it has nothing left to send, and no worker sends for it.
    package func removal(of name: String) async throws(SettingsError) -> AppRemoval {
        try await settings {
            let app = try await self.app(named: name)
            let parameters = AppStatements.parameters(id: app.id)
            let pending = try await connection.query(AppStatements.pending, parameters) { try $0.int64(0, 0) }
            guard pending == 0 else {
                throw SettingsError(
                    .inUse,
                    "App \(name) still has \(pending == 1 ? "1 job" : "\(pending) jobs") to send: wait until they have "
                        + "ended, or cancel them with 'carillon message cancel'."
                )
            }
            let workers = try await LiveWorkers.names(on: connection)
            guard workers.isEmpty || app.isPaused else {
                throw SettingsError(
                    .inUse,
                    "App \(name) is served by \(workers.count == 1 ? "a worker" : "\(workers.count) workers") "
                        + "(\(workers.prefix(3).joined(separator: ", "))): run 'carillon app pause \(name)' first, or stop "
                        + "the \(workers.count == 1 ? "worker" : "workers")."
                )
            }
            return try await connection.query(AppStatements.losses, parameters) { rows in
                AppRemoval(
                    app: app,
                    tokens: try rows.int64(0, "tokens"),
                    feedback: try rows.int64(0, "feedback"),
                    dedupeKeys: try rows.int64(0, "dedupe_keys"),
                    watchedTables: try rows.int64(0, "watched_tables"),
                    history: try rows.int64(0, "history"),
                    workers: workers
                )
            }
        }
    }

    /// Removes an app that has nothing left to send, with its tokens and their feedback. Its history stays as long as
    /// any.
    package func remove(_ name: String) async throws(SettingsError) {
        try await settings {
            let parameters = AppStatements.parameters(id: try await removal(of: name).app.id)
            try await connection.transaction {
                for statement in AppStatements.removal { try await connection.execute(statement, parameters) }
            }
        }
    }

    /// How many jobs of those apps have not ended.
    package func pending(of apps: [StoredApp]) async throws(SettingsError) -> Int64 {
        try await settings {
            var jobs: Int64 = 0
            for app in apps {
                let parameters = AppStatements.parameters(id: app.id)
                jobs += try await connection.query(AppStatements.pending, parameters) { try $0.int64(0, 0) }
            }
            return jobs
        }
    }

    private func setPaused(_ paused: Bool, _ name: String) async throws(SettingsError) -> StoredApp {
        try await settings {
            let parameters = Parameters(name, paused)
            try await connection.execute(AppStatements.setPaused, parameters)
            return try await app(named: name)
        }
    }

    private func app(named name: String) async throws(SettingsError) -> StoredApp {
        let apps = try await list()
        guard let app = apps.first(where: { $0.name == name }) else {
            throw .unknown("app", name, known: apps.map(\.name))
        }
        return app
    }

    private func credential(of app: NewApp) async throws(SettingsError) -> StoredCredential? {
        guard let name = app.credential else { return nil }
        let credentials = try await CredentialStore(connection).list()
        guard let credential = credentials.first(where: { $0.name == name }) else {
            throw .unknown("credential", name, known: credentials.map(\.name))
        }
        return credential
    }
}

extension NewApp {
    /// What no constraint of the table can say.
    fileprivate func problem(with credential: StoredCredential?) -> SettingsError? {
        guard let credential else { return nil }
        if self.protocol == "binary", credential.kind == .token {
            return SettingsError(
                .invalid,
                "The binary protocol knows certificates only, and \(credential.name) is a signing key."
            )
        }
        if topic == nil, credential.kind == .token {
            return SettingsError(
                .invalid,
                "An app with a signing key needs a topic: \(credential.name) does not say one, as a certificate does."
            )
        }
        return nil
    }
}
