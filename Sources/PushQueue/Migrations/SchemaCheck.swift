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

    /// Also whether the worker's statements use their indexes. No other task may use the connection meanwhile.
    package static func runWithPlans(on connection: PostgresConnection) async throws(SchemaError) {
        try await run(on: connection)
        let faults: [String]
        do {
            faults = try await PlanCheck.run(on: connection)
        } catch {
            throw SchemaError(error)
        }
        if !faults.isEmpty { throw .plans(faults) }
    }
}
