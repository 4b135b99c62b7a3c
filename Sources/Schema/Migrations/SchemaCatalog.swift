import CarillonPostgres

/// Reads the state of the schema in a database.
struct SchemaCatalog: Sendable {
    let connection: PostgresConnection
    var routines = Routines.current

    private static let tables = Statement(
        "schema_tables",
        """
        SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'carillon' AND c.relname IN ('schema_migrations', 'schema_routines')
        """
    )

    private static let records = Statement(
        "schema_records",
        "SELECT version, name, checksum, applied_at FROM carillon.schema_migrations ORDER BY version"
    )

    private static let routineRecords = Statement(
        "schema_routine_records",
        "SELECT file, checksum, release, applied_at FROM carillon.schema_routines ORDER BY file"
    )

    private static let views = Statement(
        "schema_views",
        """
        SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'carillon' AND c.relkind = 'v'
        """
    )

    private static let checksums = Statement(
        "schema_checksums",
        """
        SELECT encode(sha256(t.script), 'hex')
        FROM unnest($1) WITH ORDINALITY t (script, place) ORDER BY t.place
        """
    )

    func state() async throws -> SchemaState {
        let tables: [String] = try await connection.values(of: Self.tables)
        var records: [SchemaState.Record]?
        if tables.contains("schema_migrations") { records = try await connection.values(of: Self.records) }
        let applied = tables.contains("schema_routines") ? try await files() : []
        let sums = try await checksums(of: Migration.all.map(\.up) + routines.files.map(\.text))
        let known = Migration.all.map(\.version)
        return SchemaState(
            records: records,
            checksums: Dictionary(uniqueKeysWithValues: zip(known, sums)),
            routines: RoutineState(
                records: applied,
                views: try await views(),
                known: routines,
                checksums: Dictionary(
                    uniqueKeysWithValues: zip(routines.files.map(\.path), sums.dropFirst(known.count))
                )
            )
        )
    }

    private func files() async throws -> [RoutineState.Record] {
        try await connection.query(Self.routineRecords) { rows in
            try rows.indices.map { row in
                RoutineState.Record(
                    file: try rows.string(row, "file"),
                    checksum: try rows.stringIfPresent(row, "checksum"),
                    release: Release(try rows.string(row, "release")),
                    appliedAt: Moment(try rows.timestamp(row, "applied_at"))
                )
            }
        }
    }

    /// The names of the views that exist.
    func views() async throws -> Set<String> {
        let names: [String] = try await connection.values(of: Self.views)
        return Set(names)
    }

    /// PostgreSQL computes SHA-256, so this module needs no implementation. As bytea the scripts do not depend on the encoding.
    private func checksums(of scripts: [String]) async throws -> [String] {
        var array = PostgresArray(of: .bytea)
        for script in scripts { array.append(script) }
        return try await connection.values(of: Self.checksums, Parameters(array))
    }
}
