import IO
import Postgres

extension MaintenanceTask {
    /// Gives back claims that this worker has made without ever hearing of them.
    static let strays = MaintenanceTask(
        name: .strays,
        wait: { $0.maintenanceWait() },
        means: .own(
            ifDue: { worker, connection throws(PostgresError) in try await worker.findStrays(on: connection) },
            { worker, connection throws(PostgresError) in try await worker.releaseStrays(on: connection) }
        )
    )
}

extension Worker {
    fileprivate func findStrays(on connection: PostgresConnection) async throws(PostgresError) -> Bool {
        state.foundStrays(try await strays(on: connection), at: .now)
        return !state.strays.lost.isEmpty
    }

    fileprivate func releaseStrays(on connection: PostgresConnection) async throws(PostgresError) {
        for claim in state.strays.lost {
            do throws(PostgresError) {
                try await connection.execute(WorkerStatements.release, .release([claim], of: state.id))
            } catch {
                // One that PostgreSQL refuses to take back keeps none of the others.
                guard error.code == .server else { throw error }
                complain(of: error)
            }
        }
    }
}
