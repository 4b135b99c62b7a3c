import Postgres

/// Looks whether history is kept in order: partitions made ahead of time, old ones dropped.
struct MaintenanceCheck {
    /// Workers do it every hour.
    private static let longestPause: Int64 = 3 * 3600

    let connection: PostgresConnection

    func run() async throws -> Finding {
        let status = try await MaintenanceStatus(on: connection)
        if let step = status.steps.first(where: \.isFailing) {
            let others = status.steps.count(where: \.isFailing) - 1
            let more = others > 0 ? ", and \(others) more" : ""
            return .warning(
                "history",
                "Of maintenance the step '\(step.name)'\(more) fails: \(step.lastError ?? "nobody knows why")"
                    .asSentence,
                remedy:
                    "Mend that. Workers try again within 5 minutes; CALL carillon.maintain() does so at once, and "
                    + "carillon.maintenance says how each step fares."
            )
        }
        if let partition = status.defaultPartitions.first(where: { $0.rows > 0 }) {
            return .warning(
                "history",
                "\(Counted.text(partition.rows, "row")) of carillon.\(partition.table) "
                    + "\(partition.rows == 1 ? "lies" : "lie") in its default partition, having come when its day had none.",
                remedy:
                    "Workers give rows of today one within the hour, and CALL carillon.maintain() does so at once; rows of "
                    + "other days go with the retention."
            )
        }
        let oldest = status.steps.map(\.secondsSinceSuccess).max() ?? 0
        guard oldest < Self.longestPause else {
            return .warning(
                "history",
                "Maintenance was last done \(DurationText.write(.seconds(oldest))) ago.",
                remedy: "Start a worker, which does it every hour, or have pg_cron run CALL carillon.maintain()."
            )
        }
        return .ok("history", "Partitions are made ahead of time, and old ones are dropped.")
    }
}
