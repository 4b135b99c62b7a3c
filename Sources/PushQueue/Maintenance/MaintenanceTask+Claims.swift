import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// Takes over claims of workers without a row, such as claims that were locked during a take-over.
    static let orphans = MaintenanceTask(
        name: .orphans,
        wait: { $0.maintenanceWait() },
        means: .own(
            ifDue: { worker, connection throws(PostgresError) in try await worker.hasOrphans(connection) },
            { worker, connection throws(PostgresError) in _ = try await worker.takeOver(from: nil, on: connection) }
        )
    )

    /// Releases claims of this worker whose answers were lost.
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
        let strays = try await strays(on: connection)
        core.event { $0.foundStrays(strays, at: .now) }
        return !core.state.strays.lost.isEmpty
    }

    fileprivate func releaseStrays(on connection: PostgresConnection) async throws(PostgresError) {
        for claim in core.state.strays.lost {
            do throws(PostgresError) {
                try await connection.execute(WorkerStatements.release, .release([claim], of: core.state.id))
            } catch {
                // One claim whose release is rejected does not stop the others.
                guard error.code == .server else { throw error }
                database.logError(error)
            }
        }
    }
}
