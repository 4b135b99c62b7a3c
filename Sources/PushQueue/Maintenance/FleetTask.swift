import CarillonIO
package import CarillonPostgres

/// A maintenance task that one worker of the fleet does at a time: a row of `fleet_tasks`. The worker in `worker_id` has it while
/// it has a row in `workers`.
package struct FleetTask: Sendable {
    package static let feedback = FleetTask(name: .feedback)

    let name: MaintenanceTask.Name

    /// It is due, as sleepers see it too, or this worker has begun it and not ended it.
    private static let isDueNow =
        "c.name = $1 AND (c.worker_id = $3 OR carillon.task_due_at(c, $2, now()) <= now())"

    static let isDue = Statement("is_due", "SELECT EXISTS (SELECT FROM carillon.fleet_tasks c WHERE \(isDueNow))")

    static let take = Statement(
        "take",
        """
        UPDATE carillon.fleet_tasks c SET next_run = now() + coalesce(make_interval(secs => $2), c.every),
            every = coalesce(make_interval(secs => $2), c.every), worker_id = $3
        WHERE \(isDueNow)
        """
    )

    static let end = Statement(
        "end_fleet_task",
        "UPDATE carillon.fleet_tasks c SET worker_id = NULL WHERE c.name = $1 AND c.worker_id = $2"
    )

    /// - Parameters:
    ///   - interval: If nil, that of the row.
    ///   - worker: Nil for a program that is not a worker.
    func parameters(every interval: Duration?, worker: Int64?) -> Parameters {
        Parameters(name.rawValue, interval?.seconds, worker)
    }

    func parameters(of worker: Int64) -> Parameters { Parameters(name.rawValue, worker) }

    /// For programs that are not workers. Returns whether the task was due, and is taken.
    package func take(every interval: Duration, on connection: PostgresConnection) async throws(PostgresError) -> Bool {
        try await connection.execute(Self.take, parameters(every: interval, worker: nil)) == 1
    }
}
