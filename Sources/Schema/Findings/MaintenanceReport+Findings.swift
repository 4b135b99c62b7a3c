import CarillonText

/// Finds steps that fail or are not run, and rows outside the partitions of their days.
extension MaintenanceReport {
    /// In seconds. Workers run it every hour.
    private static let longestPause: Int64 = 3 * 3600

    package var findings: [Finding] {
        failing.map(Self.failure) + filledPartitions.map(Self.fill) + [pause].compactMap(\.self)
    }

    private static func failure(of step: MaintenanceRecord) -> Finding {
        Finding(
            .maintenance,
            .warning,
            "The maintenance step '\(step.step)' fails\(step.lastError.map { ": \($0)" } ?? ".")".asSentence,
            remedy:
                "Fix that. Workers try again within 5 minutes; CALL carillon.maintain() tries at once. The table "
                + "carillon.maintenance shows the state of each step."
        )
    }

    private static func fill(of partition: DefaultPartition) -> Finding {
        Finding(
            .maintenance,
            .warning,
            "\(partition.amount.prefixed(Counted.text(partition.rows, "row"))) of carillon.\(partition.table) "
                + "\(partition.rows == 1 ? "lies" : "lie") in its default partition, because no partition existed for its day.",
            remedy:
                "Workers move today's rows within the hour; CALL carillon.maintain() moves them at once. Rows of other days are "
                + "deleted after the retention."
        )
    }

    private var pause: Finding? {
        let oldest = steps.filter { !$0.isFailing }.map(\.secondsSinceSuccess).max() ?? 0
        guard oldest >= Self.longestPause else { return nil }
        return Finding(
            .maintenance,
            .warning,
            "Maintenance last ran \(DurationText.age(oldest)) ago.",
            remedy: "Start a worker, which runs it every hour, or have pg_cron run CALL carillon.maintain()."
        )
    }
}
