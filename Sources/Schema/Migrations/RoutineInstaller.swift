import CarillonPostgres

/// Applies functions, views and rights, in the transaction that is open.
struct RoutineInstaller: Sendable {
    let connection: PostgresConnection
    let state: RoutineState

    private static let stale = Statement(
        "routines_stale",
        "SELECT p.oid::regprocedure::text \(Routines.stale) ORDER BY 1"
    )

    private static let record = Statement(
        "routines_record",
        """
        INSERT INTO carillon.schema_routines (file, checksum, release)
        SELECT t.file, t.checksum, $3 FROM unnest($1, $2) AS t (file, checksum)
        ON CONFLICT (file) DO UPDATE SET checksum = excluded.checksum, release = excluded.release, applied_at = now()
        """
    )

    /// Returns what was dropped. Views that exist keep their old text: replacing several in one transaction with the rest would
    /// block readers, and might end in a deadlock with them.
    func install() async throws -> [String] {
        let routines = state.known
        let what = "Applying the functions, views and rights of \(routines.release)"
        let (functions, comments) = routines.definitions
        try await run(what, Routines.asOwner + functions)
        let views = try await SchemaCatalog(connection: connection, routines: routines).views()
        let strangers = state.strangers.filter(views.contains)
        let stale: [String] = try await connection.values(of: Self.stale)
        let missing = routines.views.filter { !views.contains($0.name) }
        try await run(
            what,
            Routines.drop(views: strangers) + (stale.isEmpty ? "" : Routines.dropStale) + comments
                + missing.map(\.text).joined(separator: "\n") + routines.rights.text
        )
        try await validate()
        try await connection.script("DELETE FROM carillon.schema_routines")
        let unchanged = state.sealedViews.filter { views.contains($0.name) }
        try await record(routines.functions + missing + unchanged + [routines.rights])
        return strangers.map { "carillon.\($0)" } + stale
    }

    func replace(_ file: Routines.File) async throws {
        try await run("Replacing the view carillon.\(file.name)", Routines.asOwner + file.text)
        try await record([file])
    }

    /// Drops all functions and views, and revokes all rights: an older program cannot revoke what this one granted, and the
    /// next step may drop the policies that restrict those rights.
    func remove() async throws {
        let views = state.known.views.map(\.name) + state.strangers
        try await run(
            "Removing the functions, views and rights",
            Routines.drop(views: views) + Routines.dropStale + state.known.revocation
                + "DELETE FROM carillon.schema_routines"
        )
    }

    private func record(_ files: [Routines.File]) async throws {
        let checksums = files.map { state.checksums[$0.path] }
        try await connection.execute(
            Self.record,
            Parameters(PostgresArray(files.map(\.path)), PostgresArray(checksums), state.known.release.description)
        )
    }

    private func validate() async throws(SchemaError) {
        do {
            try await connection.script(Routines.validate)
        } catch {
            throw switch error.sqlState {
            case SQLState.invalidFunctionDefinition: .invalid(error)
            case SQLState.lockNotAvailable: .failed("Checking the functions", error)
            default: SchemaError(error)
            }
        }
    }

    private func run(_ what: String, _ script: String) async throws(SchemaError) {
        do {
            try await connection.script(LockPace.limit + script)
        } catch {
            throw .failed(what, error)
        }
    }
}
