package import CarillonPostgres

/// The workers, and whether jobs wait without one.
package struct FleetReport: Sendable {
    /// Whether jobs are ready or due. Those of paused apps do not wait for a worker. Only the first that are due are read, since
    /// there may be millions.
    private static let jobsWait = Statement(
        "jobs_wait",
        """
        SELECT EXISTS (
            SELECT FROM carillon.apps a WHERE NOT a.paused AND (carillon.queue_depth(a.id, 0) > 0 OR a.id IN (
                SELECT d.app_id FROM (
                    SELECT p.app_id FROM carillon.pending p WHERE p.run_at <= now() ORDER BY p.run_at LIMIT 1000) d))) AS wait
        """
    )

    package let workers: [WorkerRecord]
    /// Jobs wait, and no worker is known to be alive. A worker that is asleep is alive.
    package let lacksWorker: Bool

    /// - Parameter maxRows: The largest number of workers to read, oldest first; nil reads all.
    package init(maxRows: Int64? = nil, from database: some StatementRunner) async throws {
        workers = try await WorkerRecord.all(maxRows: maxRows, from: database)
        guard workers.allSatisfy({ $0.state == .silent }) else {
            lacksWorker = false
            return
        }
        lacksWorker = try await database.query(Self.jobsWait, Parameters()) { rows in try rows.bool(0, 0) }
    }
}
