import CarillonIO
import CarillonPostgres

/// Connections for work that may take long or wait for a lock, each opened for one piece of work. Claims and settlements must
/// not wait behind it on the shared connection.
extension Worker {
    enum Purpose: Hashable {
        case maintenance(MaintenanceTask.Name)
        case takeOver
        case notes
        case split
        /// See `Worker+Detour`.
        case detour
    }

    /// Does nothing while a connection with that purpose is open, or while the worker is disconnected: such work is
    /// repeated.
    func withOwnConnection(
        for purpose: Purpose,
        _ work: (PostgresConnection) async throws(PostgresError) -> Void
    ) async {
        guard !purposes.contains(purpose), self.connection != nil, state.phase != .over else { return }
        purposes.insert(purpose)
        do throws(PostgresError) {
            let connection = try await connect(WorkerStatements.ownConnectionSettings)
            ownConnections[purpose] = connection
            // The worker may have ended meanwhile.
            if Task.isCancelled || state.phase == .over { await connection.close() }
            try await work(connection)
        } catch {
            // A worker that ends closes these connections.
            if !Task.isCancelled || error.code != .closed { logError(error) }
        }
        await ownConnections.removeValue(forKey: purpose)?.close()
        purposes.remove(purpose)
    }
}
