import CarillonIO
package import CarillonPostgres

/// Migrates the schema of a database up and down.
///
/// Each migration is one transaction under one lock, and reads again what is to be done: programs that start at the same
/// time share the work, and one that is killed leaves whole versions. The lock ends with the transaction, so poolers do no
/// harm. Before the first migration there is nothing to lock: of two programs, PostgreSQL then lets one create the schema.
package struct Migrator: Sendable {
    /// Another program created the schema at the same time.
    private struct Overtaken: Error {
        let error: SchemaError
    }

    private let connection: PostgresConnection
    private let routines: Routines

    /// Nothing else may use the connection meanwhile.
    package init(_ connection: PostgresConnection, _ routines: Routines = .current) {
        self.connection = connection
        self.routines = routines
    }

    /// How often a schema that another program creates is tried.
    private static let attempts = 50

    /// A role without the rights can read what is to be done, and is refused when it tries to do it.
    private static let table = Statement(
        "migrate_table",
        """
        SELECT t.id IS NOT NULL AS is_there, coalesce(pg_catalog.has_table_privilege(t.id, 'UPDATE'), false) AS may_lock
        FROM pg_catalog.to_regclass('carillon.schema_migrations') AS t(id)
        """
    )

    /// A mode that excludes itself, and that only a role with rights on the table can take. Advisory locks are open to all.
    private static let lock = "LOCK TABLE carillon.schema_migrations IN SHARE UPDATE EXCLUSIVE MODE"

    /// An attempt is too short for PostgreSQL to end an autovacuum of a table, which it does after `deadlock_timeout`. Statements on
    /// rows do not wait behind the lock that a vacuum takes.
    private static let endVacuums = """
        DO $$
        DECLARE
            tables CONSTANT text := (
                SELECT string_agg(DISTINCT format('ONLY carillon.%I', c.relname), ', ')
                FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
                    JOIN pg_catalog.pg_database d ON d.oid = l.database
                WHERE l.mode = 'ShareUpdateExclusiveLock' AND l.granted AND d.datname = current_database()
                    AND c.relnamespace = to_regnamespace('carillon') AND c.relkind IN ('r', 'p')
                    AND c.relname <> 'schema_migrations');
        BEGIN
            IF tables IS NOT NULL THEN
                SET LOCAL lock_timeout = '2s';
                EXECUTE 'LOCK TABLE ' || tables || ' IN SHARE UPDATE EXCLUSIVE MODE';
            END IF;
        EXCEPTION
            WHEN lock_not_available OR insufficient_privilege OR undefined_table OR deadlock_detected THEN
                NULL;
        END
        $$
        """

    private static let seal = Statement(
        "migrate_seal",
        "UPDATE carillon.schema_migrations SET checksum = $2 WHERE version = $1"
    )

    /// Applies and returns the missing migrations up to that version, by default all. The last migration of this program also applies
    /// the functions, views and rights, if any of them has changed.
    /// - Parameter onEach: called after each change is committed.
    package func up(
        to target: Int? = nil,
        _ onEach: (SchemaChange) -> Void = { _ in }
    ) async throws(SchemaError) -> [Migration] {
        let target = target ?? Migration.latest
        return try await walk(onEach) { state, connection in
            let migration = try state.nextUp(to: target)
            if let migration {
                try await Self.run(migration, "up", migration.up, on: connection)
                let parameters = Parameters(Int32(migration.version), state.checksums[migration.version])
                try await connection.execute(Self.seal, parameters)
            }
            var changes = migration.map { [SchemaChange.applied($0)] } ?? []
            guard target == Migration.latest, state.isComplete(with: migration) else { return changes }
            let installer = RoutineInstaller(connection: connection, state: state.routines)
            switch migration == nil ? state.routines.next : .everything {
            case .everything: changes.append(.routines(routines.release, dropped: try await installer.install()))
            case .view(let file):
                try await installer.replace(file)
                changes.append(.view(file.name))
            case nil: break
            }
            return changes
        }
    }

    /// Undoes and returns the migrations above that version; 0 removes the schema and its contents. All functions, views
    /// and rights are removed: the program that continues from there applies its own with `up`.
    package func down(
        to target: Int = 0,
        _ onEach: (SchemaChange) -> Void = { _ in }
    ) async throws(SchemaError) -> [Migration] {
        try await walk(onEach) { state, connection in
            let migration = try state.nextDown(to: target)
            guard migration != nil || state.routines.status.condition != .pending else { return [] }
            try await RoutineInstaller(connection: connection, state: state.routines).remove()
            guard let migration else { return [.withoutRoutines] }
            try await Self.run(migration, "down", migration.down, on: connection)
            return [.undone(migration)]
        }
    }

    /// Every known or applied migration, in order.
    package func status() async throws(SchemaError) -> [MigrationState] { try await state().migrations }

    /// Which functions, views and rights there are.
    package func routineStatus() async throws(SchemaError) -> RoutineStatus { try await state().routines.status }

    private func state() async throws(SchemaError) -> SchemaState {
        do {
            return try await SchemaCatalog(connection: connection, routines: routines).state()
        } catch {
            throw SchemaError(error)
        }
    }

    /// The migrations above one version and up to another as one script for `psql`. The last one is followed by the functions, views
    /// and rights.
    package static func sql(after version: Int = 0, to target: Int? = nil) throws(SchemaError) -> String {
        for version in [version, target ?? 0] where version != 0 {
            guard Migration.all.contains(where: { $0.version == version }) else {
                throw .unknownVersion(version, known: Migration.all)
            }
        }
        let target = target ?? Migration.latest
        var scripts = Migration.all.filter { $0.version > version && $0.version <= target }.map { migration in
            "-- \(migration.title).up.sql\nBEGIN;\nSET LOCAL standard_conforming_strings = on;\n\n\(migration.up)\nCOMMIT;\n"
        }
        if target == Migration.latest { scripts.append(Routines.current.script) }
        return scripts.joined(separator: "\n")
    }

    private func walk(
        _ onEach: (SchemaChange) -> Void,
        _ step: @Sendable (SchemaState, PostgresConnection) async throws -> [SchemaChange]
    ) async throws(SchemaError) -> [Migration] {
        var done: [Migration] = []
        var refusals = 0
        var pace = LockPace()
        var generator = SystemRandomNumberGenerator()
        do {
            while true {
                do {
                    let changes = try await connection.transaction {
                        let catalog = SchemaCatalog(connection: connection, routines: routines)
                        let isNew = try await !lock()
                        var state = try await catalog.state()
                        if isNew, state.records != nil, try await lock() { state = try await catalog.state() }
                        do {
                            return try await step(state, connection)
                        } catch let error as SchemaError where state.records == nil && error.isAlreadyThere {
                            throw Overtaken(error: error)
                        }
                    }
                    if changes.isEmpty { break }
                    done += changes.compactMap(\.migration)
                    changes.forEach(onEach)
                    refusals = 0
                    pace = LockPace()
                } catch let overtaken as Overtaken {
                    refusals += 1
                    if refusals == Self.attempts { throw overtaken.error }
                } catch let error as SchemaError where error.isOfLock {
                    guard let pause = pace.waitedInVain(at: .now, using: &generator) else { throw error }
                    try await connection.transaction { try await connection.script(Self.endVacuums) }
                    try await connection.script("SELECT pg_catalog.pg_sleep(\(pause.seconds))")
                }
            }
        } catch {
            throw SchemaError(error)
        }
        return done
    }

    /// Whether there was something to lock.
    private func lock() async throws -> Bool {
        let (isThere, mayLock) = try await connection.query(Self.table) {
            (try $0.bool(0, "is_there"), try $0.bool(0, "may_lock"))
        }
        if mayLock { try await connection.script(Self.lock) }
        return isThere
    }

    private static func run(
        _ migration: Migration,
        _ direction: String,
        _ script: String,
        on connection: PostgresConnection
    ) async throws(SchemaError) {
        do {
            try await connection.script(LockPace.limit + script)
        } catch {
            throw .failed("Migration \(migration.title) \(direction)", error)
        }
    }
}
