package import CarillonPostgres
package import CarillonSchema

extension SchemaCheck {
    /// Checks the schema, and that the worker's statements use their indexes. No other task may use the connection meanwhile.
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
