package import CarillonPostgres

/// Whether the schema of a database is the one that this program works with.
package enum SchemaCheck {
    package static func run(on connection: PostgresConnection) async throws(SchemaError) {
        let state: SchemaState
        do {
            state = try await SchemaCatalog(connection: connection).state()
        } catch {
            throw SchemaError(error)
        }
        try state.checkReadiness()
    }
}
