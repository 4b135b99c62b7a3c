import Postgres

extension MaintenanceTask {
    /// Brings the counts up to date. What is counted since is lost when the worker is killed.
    static let counts = MaintenanceTask(
        name: .counts,
        wait: { _ in .seconds(1) },
        means: .shared { worker, connection throws(PostgresError) in try await worker.countActivity(on: connection) }
    )
}
