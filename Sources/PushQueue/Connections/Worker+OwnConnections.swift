import IO
import Postgres

/// Connections for work that may take long or wait for a lock, each opened for one piece of work and closed after it. Claims
/// and settlements share a connection, and must not wait behind such work.
extension Worker {
    enum Purpose: Hashable {
        case maintenance(MaintenanceTask.Name)
        case takeOver
        case notes
        case split
        /// See `Worker+Detour`.
        case detour
    }

    /// Does nothing while a connection with that purpose is open, or without a database: all such work is repeated.
    func withOwnConnection(
        for purpose: Purpose,
        _ work: (PostgresConnection) async throws(PostgresError) -> Void
    ) async {
        guard !purposes.contains(purpose), self.connection != nil, state.phase != .over else { return }
        purposes.insert(purpose)
        do throws(PostgresError) {
            let connection = try await connect(WorkerStatements.ownConnectionSettings)
            ownConnections[purpose] = connection
            // The worker may have been told to end meanwhile.
            if Task.isCancelled || state.phase == .over { await connection.close() }
            try await work(connection)
        } catch {
            // A worker that ends closes these connections, whatever they are doing.
            if !Task.isCancelled || error.code != .closed { complain(of: error) }
        }
        // The purpose is free only when the connection is closed.
        await ownConnections.removeValue(forKey: purpose)?.close()
        purposes.remove(purpose)
    }
}
