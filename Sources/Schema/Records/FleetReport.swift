package import CarillonPostgres

/// The workers, and whether jobs wait without one.
package struct FleetReport: Sendable {
    /// Whether jobs are ready or due. Those of paused apps do not wait for a worker. Only the first that are due are read, since
    /// there may be millions. $1: the queues of so many apps are read, the first by name; null: all.
    private static let jobsWait = Statement(
        "jobs_wait",
        """
        SELECT EXISTS (SELECT FROM (SELECT a.id FROM carillon.apps a WHERE NOT a.paused ORDER BY a.name LIMIT $1) a
            WHERE carillon.queue_depth(a.id, 0) > 0) OR EXISTS (
            SELECT FROM carillon.next_due(max_rows => 1000, max_rows_read => 1000) d JOIN carillon.apps a ON a.name = d.app
            WHERE d.run_at <= now() AND NOT a.paused) AS wait
        """
    )

    package let workers: [WorkerRecord]
    /// Jobs wait, and no worker is known to be alive. A worker that is asleep is alive.
    package let lacksWorker: Bool

    /// Of the oldest workers and the queues of the first apps by name: at most so many of each, or of all if nil.
    package init(maxWorkers: Int64? = nil, maxApps: Int64? = nil, from database: some StatementRunner) async throws {
        workers = try await WorkerRecord.all(maxRows: maxWorkers, from: database)
        guard workers.allSatisfy({ $0.state == .silent }) else {
            lacksWorker = false
            return
        }
        lacksWorker = try await database.query(Self.jobsWait, Parameters(maxApps)) { rows in try rows.bool(0, 0) }
    }
}
