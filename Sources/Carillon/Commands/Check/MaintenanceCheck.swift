import CarillonPostgres
import CarillonSchema
import CarillonText

/// Checks the maintenance of history: partitions are created ahead of time, and old ones are dropped.
struct MaintenanceCheck {
    /// Workers run it every hour.
    private static let longestPause: Int64 = 3 * 3600

    let connection: PostgresConnection

    func run() async throws -> Finding {
        let status = try await MaintenanceReport(from: connection)
        if let step = status.failing.first {
            let others = status.failing.count - 1
            let more = others > 0 ? " (and \(Counted.text(Int64(others), "other")))" : ""
            return .warning(
                "The maintenance step '\(step.step)'\(more) fails: \(step.lastError ?? "no error was recorded")"
                    .asSentence,
                remedy:
                    "Fix that. Workers try again within 5 minutes; CALL carillon.maintain() tries at once. The table "
                    + "carillon.maintenance shows the state of each step."
            )
        }
        if let partition = status.filledPartitions.first {
            return .warning(
                "\(partition.amount.prefixed(Counted.text(partition.rows, "row"))) of carillon.\(partition.table) "
                    + "\(partition.rows == 1 ? "lies" : "lie") in its default partition, because no partition "
                    + "existed for its day.",
                remedy:
                    "Workers move today's rows within the hour; CALL carillon.maintain() moves them at once. Rows "
                    + "of other days are deleted after the retention."
            )
        }
        let oldest = status.steps.map(\.secondsSinceSuccess).max() ?? 0
        guard oldest < Self.longestPause else {
            return .warning(
                "Maintenance last ran \(DurationText.write(.seconds(oldest))) ago.",
                remedy: "Start a worker, which runs it every hour, or have pg_cron run CALL carillon.maintain()."
            )
        }
        return .ok("Partitions are created ahead of time, and old ones are dropped.")
    }
}
