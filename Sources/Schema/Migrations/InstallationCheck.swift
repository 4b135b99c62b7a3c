package import CarillonPostgres

/// Whether this database is where the installation lives. A copy must not send the pushes of the original.
package enum InstallationCheck {
    /// Says why nothing may be sent from this database.
    private static let fault = Statement("installation_fault", "SELECT carillon.installation_fault()")

    package static func run(on connection: PostgresConnection) async throws(SchemaError) {
        let fault: String?
        do {
            fault = try await connection.query(Self.fault) { rows in try rows.stringIfPresent(0, 0) }
        } catch {
            throw SchemaError(error)
        }
        if let fault { throw .moved(fault) }
    }
}
