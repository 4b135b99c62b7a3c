import CarillonPostgres
import CarillonPushQueue
import CarillonText

extension Command {
    static let failuresRequeue = Command(
        "failures requeue",
        roles: ["carillon_app"],
        summary: "Enqueue failed pushes again, as new messages.",
        discussion:
            "Without a filter, requeues all failures, and asks first. Pushes that APNs answered with 410, and expired "
            + "pushes, are never requeued, and no failure is requeued twice. Pushes that were delivered, or may have been, are "
            + "requeued only with --include-delivered or --include-unknown. Failures are kept for the workers' "
            + "--retention.",
        options: FailureFilter.options + [.includeUnknown, .includeDelivered, .dryRun, .yes, .json, .database],
        examples: [
            "carillon failures requeue --app acme --reason TopicDisallowed --since 2h --dry-run",
            "carillon failures requeue --message 81724",
        ],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                try await requeue(invocation, connection)
            }
        }
    )

    private static let requeueFailures = Statement(
        "failures_requeue",
        """
        SELECT carillon.requeue_failures(app => $1, reason => $2, since => make_interval(secs => $3), message_id => $4,
            include_unknown => $5, include_delivered => $6, everything => true)
        """
    )

    private static func requeue(_ invocation: Invocation, _ connection: PostgresConnection) async throws -> ExitStatus {
        let filter = FailureFilter(settings: invocation.settings)
        let isDry = invocation.settings.isOn(.dryRun)
        let reason = LocalReason.outcomeUnknown.name
        if invocation.settings.text(.reason) == reason, !invocation.settings.isOn(.includeUnknown) {
            throw CommandError(
                .usage,
                "Pushes that failed as \(reason) may have been delivered, and would be sent again.",
                hint: "Add --include-unknown if that is what you want."
            )
        }
        try await filter.check(on: connection)
        var parameters = Parameters()
        filter.append(to: &parameters)
        parameters.append(invocation.settings.isOn(.includeUnknown))
        parameters.append(invocation.settings.isOn(.includeDelivered))
        if filter.isEmpty, !isDry, !invocation.settings.isOn(.yes) {
            let pushes = try await count(parameters, connection)
            if pushes > 0 {
                try Confirmation(invocation: invocation).obtain(
                    "Without a filter all failures are requeued: \(Counted.text(pushes, "push", "pushes"))."
                )
            }
        }
        let pushes = isDry ? try await count(parameters, connection) : try await requeue(parameters, connection)
        if !isDry { try await invocation.warnOfCopy(connection) }
        invocation.show(["pushes": pushes, "dry_run": isDry]) { console in
            let count = Counted.text(pushes, "push", "pushes")
            console.print(isDry ? "\(count) would be requeued." : "Requeued \(count).")
        }
        return .done
    }

    private static func requeue(_ parameters: Parameters, _ connection: PostgresConnection) async throws -> Int64 {
        try await connection.query(requeueFailures, parameters) { rows in try rows.int64(0, 0) }
    }

    /// The transaction is rolled back after counting, so the count is exact.
    private static func count(_ parameters: Parameters, _ connection: PostgresConnection) async throws -> Int64 {
        try await connection.script("BEGIN")
        let pushes = try await requeue(parameters, connection)
        try await connection.script("ROLLBACK")
        return pushes
    }
}
