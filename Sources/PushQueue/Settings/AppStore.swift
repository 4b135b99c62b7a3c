package import CarillonPostgres
import CarillonText

package struct AppStore: Sendable {
    /// What would be deleted with an app.
    package struct Removal: Sendable, Decodable {
        package let tokens: Int64
        package let feedback: Int64
        package let dedupeKeys: Int64
        /// The application's tables from which feedback passes delete dead tokens.
        package let watchedTables: Int64
        /// The roles that are isolated to it, and lose it.
        package let roles: Int64
        package let webhooks: Int64
        /// Rows of `results` and `failures`, which stay.
        package let history: Int64
    }

    private let connection: PostgresConnection

    /// Nothing else may use the connection meanwhile.
    package init(_ connection: PostgresConnection) { self.connection = connection }

    // MARK: Reading

    private static let list = Statement("app_list", "SELECT \(App.columns) FROM \(App.tables) ORDER BY a.name")

    private static let held = Statement("app_held", "SELECT h.app_id FROM carillon.held_apps h")

    private static let names = Statement("app_names", "SELECT a.name FROM carillon.apps a ORDER BY a.name")

    /// Every app, by name.
    package func list() async throws(SettingsError) -> [App] {
        try await settings { try await connection.values(of: Self.list) }
    }

    /// The ids of the apps that cannot send at the moment.
    package func held() async throws(SettingsError) -> Set<Int32> {
        try await settings { Set(try await connection.values(of: Self.held) as [Int32]) }
    }

    package func find(_ name: String) async throws(SettingsError) -> App {
        let apps = try await list()
        guard let app = apps.first(where: { $0.name == name }) else {
            throw .unknown("app", name, known: apps.map(\.name))
        }
        return app
    }

    /// Throws if there is no app of that name. Reads only names, as carillon_app and carillon_reader may.
    package func require(_ name: String) async throws(SettingsError) {
        try await settings {
            let names: [String] = try await connection.values(of: Self.names)
            if !names.contains(name) { throw SettingsError.unknown("app", name, known: names) }
        }
    }

    // MARK: Adding and changing

    private static let columns = AppSetting.all.map(\.column) + ["certificate_id"]
    private static let values =
        AppSetting.all.enumerated().map { $1.value(of: $0 + 1) } + ["$\(AppSetting.all.count + 1)"]

    private static let add = Statement(
        "app_add",
        """
        INSERT INTO carillon.apps (\(columns.joined(separator: ", ")))
        VALUES (\(values.joined(separator: ", ")))
        """
    )

    /// Locks the row until it is changed.
    private static let lock = Statement(
        "app_lock",
        "SELECT \(App.columns) FROM \(App.tables) WHERE a.name = $1 FOR UPDATE OF a"
    )

    /// The last parameter is the name until now.
    private static let change = Statement(
        "app_change",
        """
        UPDATE carillon.apps SET \(zip(columns, values).map { "\($0) = \($1)" }.joined(separator: ", "))
        WHERE name = $\(columns.count + 1)
        """
    )

    private static let setPaused = Statement(
        "app_set_paused",
        "UPDATE carillon.apps SET paused = $2 WHERE name = $1 AND paused <> $2"
    )

    /// Adds an app with these settings, or with the defaults.
    @discardableResult
    package func add(_ name: String, _ set: (inout AppSettings) -> Void = { _ in }) async throws(SettingsError) -> App {
        var app = AppSettings(name: name)
        set(&app)
        do {
            try await insert(app)
            return try await find(app.name)
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

    /// Changes settings of an app; all of them, or none.
    @discardableResult
    package func change(
        _ name: String,
        _ set: @Sendable (inout AppSettings) -> Void
    ) async throws(SettingsError) -> App {
        do {
            let changed = try await connection.transaction {
                guard var app = try await locked(name) else {
                    throw SettingsError.unknown("app", name, known: try await list().map(\.name))
                }
                set(&app)
                try await update(name, to: app)
                return app.name
            }
            return try await find(changed)
        } catch let error as PostgresError where error.constraint == "apps_name_is_unique" {
            throw SettingsError(.nameTaken, "There is an app of that name already: choose another.", underlying: error)
        } catch {
            throw SettingsError(error)
        }
    }

    package func insert(_ app: AppSettings) async throws {
        try await connection.execute(Self.add, try await parameters(of: app))
    }

    /// In a transaction, nobody else changes the app before its end. Returns nil if there is no such app.
    package func locked(_ name: String) async throws -> AppSettings? {
        let apps: [App] = try await connection.values(of: Self.lock, Parameters(name))
        return apps.first?.settings
    }

    package func update(_ name: String, to app: AppSettings) async throws {
        var parameters = try await parameters(of: app)
        parameters.append(name)
        try await connection.execute(Self.change, parameters)
    }

    /// Pushes of a paused app wait until it is resumed. Returns false if it was paused or not already, as wanted.
    package func setPaused(_ paused: Bool, _ name: String) async throws(SettingsError) -> Bool {
        try await settings {
            let changed = try await connection.execute(Self.setPaused, Parameters(name, paused))
            if changed == 0 { _ = try await find(name) }  // throws the error for an unknown app
            return changed > 0
        }
    }

    /// The parameters of `add` and `change`. Throws if the settings contradict each other.
    private func parameters(of app: AppSettings) async throws -> Parameters {
        var credential: StoredCredential?
        if let name = app.credential { credential = try await CredentialStore(connection).find(name) }
        if let problem = app.problem(with: credential) { throw problem }
        var parameters = Parameters()
        for setting in AppSetting.all { setting.append(app, &parameters) }
        parameters.append(credential?.id)
        return parameters
    }

    // MARK: Removing

    private static let pending = Statement(
        "app_pending",
        """
        SELECT (SELECT count(*) FROM carillon.messages WHERE app_id = $1)
            + (SELECT count(*) FROM carillon.scheduled WHERE app_id = $1)
            + (SELECT coalesce(sum(cardinality(jobs)), 0) FROM carillon.inflight WHERE app_id = $1) AS jobs
        """
    )

    private static let losses = Statement(
        "app_losses",
        """
        SELECT (SELECT count(*) FROM carillon.tokens WHERE app_id = $1) AS tokens,
            (SELECT count(*) FROM carillon.feedback WHERE app_id = $1) AS feedback,
            (SELECT count(*) FROM carillon.dedupe WHERE app_id = $1) AS dedupe_keys,
            (SELECT count(*) FROM carillon.watched_tables WHERE app_id = $1) AS watched_tables,
            (SELECT count(*) FROM carillon.app_roles WHERE app_id = $1) AS roles,
            (SELECT count(*) FROM carillon.webhooks w JOIN carillon.subscriptions s ON s.id = w.subscription_id
                WHERE s.app_id = $1) AS webhooks,
            (SELECT count(*) FROM carillon.results WHERE app_id = $1)
                + (SELECT count(*) FROM carillon.failures WHERE app_id = $1) AS history
        """
    )

    /// With the last role, row-level security ends. One call is for all roles that were dropped: no name belongs to them.
    private static let unisolate = Statement(
        "app_remove_roles",
        """
        SELECT carillon.unisolate_app($2, r.name) FROM (
            SELECT DISTINCT coalesce(o.rolname, '') AS name FROM carillon.app_roles a
            LEFT JOIN pg_roles o ON o.oid = a.role WHERE a.app_id = $1) r
        """
    )

    /// What `unisolate_app` locks first. Nothing else may be locked before it.
    private static let turn = "LOCK TABLE carillon.app_roles IN SHARE UPDATE EXCLUSIVE MODE"

    private static let isIsolated = Statement(
        "app_is_isolated",
        "SELECT EXISTS (SELECT FROM carillon.app_roles a WHERE a.app_id = $1)"
    )

    static let removal = [
        Statement("app_remove_tokens", "DELETE FROM carillon.tokens WHERE app_id = $1"),
        Statement("app_remove_feedback", "DELETE FROM carillon.feedback WHERE app_id = $1"),
        Statement("app_remove_hold", "DELETE FROM carillon.holds WHERE app_id = $1"),
        Statement("app_remove_rate", "DELETE FROM carillon.rates WHERE app_id = $1"),
        Statement("app_remove_keys", "DELETE FROM carillon.dedupe WHERE app_id = $1"),
        Statement("app_remove_move", "DELETE FROM carillon.moves WHERE app_id = $1 AND ended_at IS NOT NULL"),
    ]
    private static let end = Statement("app_remove", "DELETE FROM carillon.apps WHERE id = $1")

    /// Throws if the app may not be removed: it has jobs left, or workers send for it.
    package func removal(of name: String) async throws(SettingsError) -> Removal {
        try await settings {
            let parameters = Parameters(try await removable(name).id)
            return try await connection.query(Self.losses, parameters) { try $0.record(0) }
        }
    }

    private func removable(_ name: String) async throws(SettingsError) -> App {
        try await settings {
            let app = try await find(name)
            let pending = try await pending(of: [app])
            guard pending == 0 else {
                throw SettingsError(
                    .inUse,
                    "App \(name) still has \(pending == 1 ? "1 job" : "\(pending) jobs") to send: wait until they have "
                        + "ended, or cancel them all with: SELECT carillon.cancel_messages(ARRAY(SELECT p.id FROM "
                        + "carillon.pending p WHERE p.app = \(name.sqlQuoted)), \(name.sqlQuoted))"
                )
            }
            let workers = try await LeaseHolders.names(on: connection)
            guard workers.isEmpty || app.isPaused else {
                throw SettingsError(
                    .inUse,
                    "App \(name) is served by \(workers.count == 1 ? "a worker" : "\(workers.count) workers") "
                        + "(\(workers.prefix(3).joined(separator: ", "))): run 'carillon app pause \(name.shellQuoted)' first, or stop "
                        + "the \(workers.count == 1 ? "worker" : "workers")."
                )
            }
            return app
        }
    }

    /// Removes an app, with its tokens and their feedback. Its history stays until it expires.
    package func remove(_ name: String) async throws(SettingsError) {
        try await settings {
            let id = try await removable(name).id
            let parameters = Parameters(id)
            let isIsolated = try await connection.query(Self.isIsolated, parameters) { try $0.bool(0, 0) }
            try await connection.transaction {
                if isIsolated { try await connection.script(Self.turn) }
                for statement in Self.removal { try await connection.execute(statement, parameters) }
                // Late, because its locks stop enqueues until the transaction ends.
                try await connection.execute(Self.unisolate, Parameters(id, name))
                try await connection.execute(Self.end, parameters)
            }
        }
    }

    /// How many jobs of these apps have not ended.
    package func pending(of apps: [App]) async throws(SettingsError) -> Int64 {
        try await settings {
            var jobs: Int64 = 0
            for app in apps {
                jobs += try await connection.query(Self.pending, Parameters(app.id)) { try $0.int64(0, "jobs") }
            }
            return jobs
        }
    }
}

extension AppSettings {
    /// What no constraint of the table covers.
    fileprivate func problem(with credential: StoredCredential?) -> SettingsError? {
        guard let credential, credential.kind == .token else { return nil }
        if self.protocol == .binary {
            return SettingsError(
                .invalid,
                "The binary protocol takes certificates only, and \(credential.name) is a signing key."
            )
        }
        if topic == nil {
            return SettingsError(
                .invalid,
                "An app with a signing key needs a topic: unlike a certificate, \(credential.name) does not name one."
            )
        }
        return nil
    }
}

extension String {
    fileprivate var sqlQuoted: String { "'" + replacing("'", with: "''") + "'" }
}
