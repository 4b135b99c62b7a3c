import CarillonPostgres

/// Reads the state of the schema in a database.
struct SchemaCatalog: Sendable {
    let connection: PostgresConnection

    private static let exists = Statement(
        "schema_exists",
        """
        SELECT EXISTS (
            SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'carillon' AND c.relname = 'schema_migrations')
        """
    )

    private static let records = Statement(
        "schema_records",
        "SELECT version, name, checksum, applied_at FROM carillon.schema_migrations ORDER BY version"
    )

    private static let checksums = Statement(
        "schema_checksums",
        """
        SELECT encode(sha256(t.script), 'hex')
        FROM unnest($1) WITH ORDINALITY t (script, place) ORDER BY t.place
        """
    )

    func state() async throws -> SchemaState {
        let records = try await read()
        return SchemaState(records: records, checksums: try await checksums(of: Migration.all))
    }

    /// Nil: there is no schema.
    private func read() async throws -> [SchemaState.Record]? {
        let exists = try await connection.query(Self.exists) { rows in try rows.bool(0, 0) }
        guard exists else { return nil }
        return try await connection.query(Self.records) { rows in
            try rows.indices.map { row in
                SchemaState.Record(
                    version: Int(try rows.int64(row, "version")),
                    name: try rows.string(row, "name"),
                    checksum: try rows.stringIfPresent(row, "checksum"),
                    appliedAt: try rows.timestamp(row, "applied_at")
                )
            }
        }
    }

    /// PostgreSQL computes SHA-256, so this module needs no implementation. As bytea the scripts do not depend on the encoding.
    private func checksums(of migrations: [Migration]) async throws -> [Int: String] {
        var scripts = PostgresArray(of: .bytea)
        for migration in migrations { scripts.append(migration.up) }
        let sums: [String] = try await connection.values(of: Self.checksums, Parameters(scripts))
        return Dictionary(uniqueKeysWithValues: zip(migrations.map(\.version), sums))
    }
}
