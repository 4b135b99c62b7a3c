import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// Creates and drops partitions of the history, step by step, each in transactions of its own.
    static let maintain = MaintenanceTask(
        name: .maintain,
        wait: { $0.maintenance.wait(for: .maintain) },
        means: .fleet(every: { _ in nil }) { tools, connection throws(PostgresError) in
            try await tools.maintain(on: connection)
        }
    )
}

extension MaintenanceTools {
    fileprivate func maintain(on connection: PostgresConnection) async throws(PostgresError) {
        let retention = Parameters(context.options.retention.seconds)
        let steps: [MaintenanceStep] = try await database.ask(connection, MaintainStatements.steps, retention) {
            try $0.records()
        }
        var failures = 0
        for step in steps where !Task.isCancelled {
            guard let fault = try await finish(step, on: connection) else { continue }
            failures += 1
            let isLocked = fault.isTimeout || fault.sqlState == SQLState.objectInUse
            let holders = isLocked ? await database.lockHolders(of: nil) : []
            context.log(.maintenanceFailed(step: step.name, error: fault.description, holders: holders))
        }
        if failures > 0 { try await connection.execute(MaintainStatements.soon) }
        context.log(.maintained)
    }

    /// Runs a step until nothing of it is left. Returns its error, which does not stop the other steps.
    private func finish(_ step: MaintenanceStep, on connection: PostgresConnection) async throws(PostgresError)
        -> PostgresError?
    {
        let parameters = Parameters(step.action, step.target, context.options.retention.seconds)
        while !Task.isCancelled {
            do throws(PostgresError) {
                let (more, fault) = try await database.ask(connection, MaintainStatements.step, parameters) {
                    rows in
                    (
                        try rows.bool(0, "more"),
                        try rows.stringIfPresent(0, "error").map {
                            PostgresError(.server, $0, sqlState: try rows.stringIfPresent(0, "state"))
                        }
                    )
                }
                guard fault == nil, more else { return fault }
            } catch {
                // maintain_step() returns the errors of the step: another one would be met by all steps.
                guard error.isTimeout else { throw error }
                return error
            }
        }
        return nil
    }
}

/// Of a row of `maintenance`.
private struct MaintenanceStep: Decodable, Sendable {
    let action: String
    let target: String

    var name: String { "\(action) \(target)" }
}

private enum MaintainStatements {
    /// Records the retention first: without one of its own, carillon.maintain() keeps rows as long as the workers do.
    static let steps = Statement(
        "maintenance",
        """
        WITH kept AS (UPDATE carillon.fleet_tasks c SET retention = make_interval(secs => $1) WHERE c.name = 'maintain')
        SELECT m.action, m.target FROM carillon.maintenance m ORDER BY m.run_order
        """
    )

    static let step = Statement(
        "maintain_step",
        "SELECT s.more, s.error, s.state FROM carillon.maintain_step($1, $2, make_interval(secs => $3)) AS s"
    )

    /// A step that failed may have waited for a lock, so maintenance is soon repeated.
    static let soon = Statement(
        "maintain_soon",
        """
        UPDATE carillon.fleet_tasks c SET next_run = least(c.next_run, now() + interval '5 minutes') WHERE c.name = 'maintain'
        """
    )
}
