package import CarillonPostgres

/// Migrates the schema of a database up and down.
///
/// Each migration is one transaction under one lock, and reads again what is to be done: programs that start at the same
/// time share the work, and one that is killed leaves whole versions. The lock ends with the transaction, so poolers do no
/// harm.
package struct Migrator: Sendable {
    private let connection: PostgresConnection

    /// Nothing else may use the connection meanwhile.
    package init(_ connection: PostgresConnection) { self.connection = connection }

    private static let lock = Statement(
        "migrate_lock",
        "SELECT FROM (SELECT pg_advisory_xact_lock(hashtextextended('carillon.migrate', 0))) held"
    )

    private static let seal = Statement(
        "migrate_seal",
        "UPDATE carillon.schema_migrations SET checksum = $2 WHERE version = $1"
    )

    /// Applies and returns the missing migrations up to that version, by default all.
    /// - Parameter onEach: called after each one is committed.
    package func up(
        to target: Int? = nil,
        _ onEach: (Migration) -> Void = { _ in }
    ) async throws(SchemaError) -> [Migration] {
        try await walk(onEach) { state, connection in
            guard let migration = try state.nextUp(to: target ?? Migration.latest) else { return nil }
            try await Self.run(migration, "up", migration.up, on: connection)
            let parameters = Parameters(Int32(migration.version), state.checksums[migration.version])
            try await connection.execute(Self.seal, parameters)
            return migration
        }
    }

    /// Undoes and returns the migrations above that version; 0 removes the schema and its contents.
    package func down(
        to target: Int = 0,
        _ onEach: (Migration) -> Void = { _ in }
    ) async throws(SchemaError) -> [Migration] {
        try await walk(onEach) { state, connection in
            guard let migration = try state.nextDown(to: target) else { return nil }
            try await Self.run(migration, "down", migration.down, on: connection)
            return migration
        }
    }

    /// Every known or applied migration, in order.
    package func status() async throws(SchemaError) -> [MigrationState] {
        do {
            return try await SchemaCatalog(connection: connection).state().migrations
        } catch {
            throw SchemaError(error)
        }
    }

    /// The migrations above one version and up to another as one script for `psql`.
    package static func sql(after version: Int = 0, to target: Int? = nil) throws(SchemaError) -> String {
        for version in [version, target ?? 0] where version != 0 {
            guard Migration.all.contains(where: { $0.version == version }) else {
                throw .unknownVersion(version, known: Migration.all)
            }
        }
        return Migration.all.filter { $0.version > version && $0.version <= target ?? Migration.latest }.map {
            migration in
            "-- \(migration.title).up.sql\nBEGIN;\n\n\(migration.up)\nCOMMIT;\n"
        }.joined(separator: "\n")
    }

    private func walk(
        _ onEach: (Migration) -> Void,
        _ step: @Sendable (SchemaState, PostgresConnection) async throws -> Migration?
    ) async throws(SchemaError) -> [Migration] {
        var done: [Migration] = []
        do {
            while let migration = try await connection.transaction({
                _ = try await connection.query(Self.lock) { $0.count }
                return try await step(try await SchemaCatalog(connection: connection).state(), connection)
            }) {
                done.append(migration)
                onEach(migration)
            }
        } catch {
            throw SchemaError(error)
        }
        return done
    }

    private static func run(
        _ migration: Migration,
        _ direction: String,
        _ script: String,
        on connection: PostgresConnection
    ) async throws(SchemaError) {
        do {
            try await connection.script(script)
        } catch {
            throw .failed(migration, direction, error)
        }
    }
}
