import Postgres

extension Command {
    static let failuresRequeue = Command(
        "failures",
        "requeue",
        summary: "Send again what failed, as new messages; without a filter everything, for which it asks first.",
        discussion:
            "Tokens that Apple called dead are not sent to again, nor what has expired meanwhile, and nothing is "
            + "requeued twice. What was delivered, or may have been, is sent again only if a flag says so, or --reason "
            + "names OutcomeUnknown. The history goes as far back as the retention of the workers.",
        options: FailureFilter.options + [.includeUnknown, .includeDelivered, .dryRun, .yes, .json, .database],
        examples: [
            "carillon failures requeue --app shop --reason InvalidProviderToken --since 2h --dry-run",
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
            include_unknown => $5, include_delivered => $6)
        """
    )

    private static func requeue(_ invocation: Invocation, _ connection: PostgresConnection) async throws -> ExitStatus {
        let filter = FailureFilter(settings: invocation.settings)
        let isDry = invocation.settings.isOn(.dryRun)
        try await filter.check(on: connection)
        var parameters = Parameters()
        filter.append(to: &parameters)
        parameters.append(invocation.settings.isOn(.includeUnknown))
        parameters.append(invocation.settings.isOn(.includeDelivered))
        if filter.isEmpty, !isDry, !invocation.settings.isOn(.yes) {
            let pushes = try await count(parameters, connection)
            if pushes > 0 {
                try Confirmation(invocation: invocation).obtain(
                    "Without a filter everything that failed is sent again: \(Counted.text(pushes, "push", "pushes"))."
                )
            }
        }
        let pushes = isDry ? try await count(parameters, connection) : try await requeue(parameters, connection)
        if invocation.settings.isOn(.json) {
            invocation.console.print(.object([("pushes", .int(pushes)), ("dry_run", .bool(isDry))]))
        } else {
            let count = Counted.text(pushes, "push", "pushes")
            invocation.console.print(isDry ? "\(count) would be requeued." : "Requeued \(count).")
        }
        return .done
    }

    private static func requeue(_ parameters: Parameters, _ connection: PostgresConnection) async throws -> Int64 {
        try await connection.query(requeueFailures, parameters) { rows in try rows.int64(0, 0) }
    }

    /// What is rolled back was counted exactly.
    private static func count(_ parameters: Parameters, _ connection: PostgresConnection) async throws -> Int64 {
        try await connection.script("BEGIN")
        let pushes = try await requeue(parameters, connection)
        try await connection.script("ROLLBACK")
        return pushes
    }
}
