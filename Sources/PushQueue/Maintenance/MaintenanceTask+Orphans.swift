import Postgres

extension MaintenanceTask {
    /// Puts back what workers that are gone have left in flight: claims that were locked when they were taken over from,
    /// say.
    static let orphans = MaintenanceTask(
        name: .orphans,
        wait: { $0.maintenanceWait() },
        means: .own(
            ifDue: { worker, connection throws(PostgresError) in try await worker.hasOrphans(connection) },
            { worker, connection throws(PostgresError) in _ = try await worker.takeOver(from: nil, on: connection) }
        )
    )
}
