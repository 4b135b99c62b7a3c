package import CarillonPostgres

/// Whether this database is where the installation lives. A copy must not send the pushes of the original.
package enum InstallationCheck {
    /// Says why nothing may be sent from this database.
    private static let fault = Statement("installation_fault", "SELECT carillon.installation_fault()")

    package static func run(on connection: PostgresConnection) async throws(SchemaError) {
        if let fault = try await fault(on: connection) { throw fault }
    }

    /// Why nothing may be sent from here, if so.
    package static func fault(on connection: PostgresConnection) async throws(SchemaError) -> SchemaError? {
        do {
            return try await connection.query(Self.fault) { rows in try rows.stringIfPresent(0, 0) }.map { .moved($0) }
        } catch {
            throw SchemaError(error)
        }
    }
}
