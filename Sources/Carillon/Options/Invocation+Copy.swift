import CarillonPostgres
import CarillonSchema

extension Invocation {
    /// Warns that what the command has done has no effect yet, if nothing is sent from this database.
    func warnOfCopy(_ connection: PostgresConnection) async throws {
        if let fault = try await InstallationCheck.fault(on: connection) { console.warn(fault.message) }
    }
}
