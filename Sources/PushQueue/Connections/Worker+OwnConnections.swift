import IO
import Postgres

/// What may take long, or wait for somebody's lock: it goes over a connection of its own, opened for it and closed after
/// it, one of a purpose at a time. Claims and settlements share the worker's connection, and must not stand behind it.
extension Worker {
    enum Purpose: Hashable {
        case maintenance(MaintenanceTask.Name)
        case takeOver
        case notes
        case split
        /// The way round the shared connection, see `Worker+Detour`.
        case detour
    }

    /// Does nothing while another connection has that purpose, or without a database: all of it comes again.
    func withOwnConnection(
        for purpose: Purpose,
        _ work: (PostgresConnection) async throws(PostgresError) -> Void
    ) async {
        guard !purposes.contains(purpose), self.connection != nil, state.phase != .over else { return }
        purposes.insert(purpose)
        do throws(PostgresError) {
            let connection = try await connect(WorkerStatements.ownConnectionSettings)
            ownConnections[purpose] = connection
            // Told to end while it was connecting.
            if Task.isCancelled || state.phase == .over { await connection.close() }
            try await work(connection)
        } catch {
            // At the end of the worker its connection is closed whatever it is doing.
            if !Task.isCancelled || error.code != .closed { complain(of: error) }
        }
        // Nobody else begins one before the set says so.
        await ownConnections.removeValue(forKey: purpose)?.close()
        purposes.remove(purpose)
    }
}
