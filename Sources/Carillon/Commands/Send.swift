import IO
import Postgres

extension Command {
    static let send = Command(
        "send",
        summary: "Enqueue a push and wait for what becomes of it; a worker must be running.",
        discussion: "Ends with 0 when every token was sent, 1 when one failed, and 75 when the outcome did not come "
            + "within --wait: the push stays enqueued.",
        required: [.app, .token],
        options: MessageArguments.options + [.wait, .json, .database],
        examples: [
            "carillon send --app shop --token 9f3a... --alert 'Your parcel is here'",
            "carillon send --app shop --token 9f3a... --payload '{\"aps\":{\"content-available\":1}}' --push-type background",
        ],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, loop in
                try await Send(invocation: invocation, connection: connection, loop: loop).run()
            }
        }
    )
}

private struct Send {
    private static let enqueue = Statement(
        "send_enqueue",
        "SELECT carillon.enqueue(app => $1, tokens => $2, \(MessageArguments.named(from: 3)))"
    )
    /// A message that was cut into jobs has a row of results for each, under the id of all.
    private static let results = Statement(
        "send_results",
        """
        SELECT coalesce(sum(sent), 0)::int8, coalesce(sum(failed), 0)::int8, coalesce(sum(expired), 0)::int8,
            coalesce(sum(cancelled), 0)::int8
        FROM carillon.results WHERE message_id = $1 OR broadcast_id = $1
        """
    )
    private static let failures = Statement(
        "send_failures",
        """
        SELECT f.token, f.status, f.reason FROM carillon.failures f
        WHERE f.message_id = $1
            OR f.message_id IN (SELECT r.message_id FROM carillon.results r WHERE r.broadcast_id = $1)
        ORDER BY f.token
        """
    )

    let invocation: Invocation
    let connection: PostgresConnection
    let loop: EventLoop

    func run() async throws -> ExitStatus {
        let id = try await enqueue()
        let wait = invocation.settings.duration(.wait)
        guard wait > .zero else {
            invocation.console.print(
                invocation.settings.isOn(.json) ? JSONValue.object([("id", .int(id))]).text : "Enqueued as \(id)."
            )
            return .done
        }
        let outcome = try await outcome(of: id, within: wait)
        let failures = outcome.failed > 0 ? try await self.failures(of: id) : []
        if outcome.ended > 0 || invocation.settings.isOn(.json) { report(id, outcome, failures) }
        guard outcome.ended == tokens.count else {
            throw CommandError(
                .tryAgain,
                "No outcome came within \(DurationText.write(wait)); message \(id) is still enqueued.",
                hint: "Is a worker running, and the app not paused? 'carillon status' tells."
            )
        }
        return outcome.sent == tokens.count ? .done : .failed
    }

    /// Each token once, as the queue takes them.
    private var tokens: Set<String> {
        Set(invocation.settings.texts(.token).map { $0.lowercased() })
    }

    private func enqueue() async throws -> Int64 {
        let settings = invocation.settings
        var parameters = Parameters()
        parameters.append(settings.text(.app))
        parameters.append(PostgresArray(settings.texts(.token)))
        MessageArguments.append(settings, to: &parameters)
        return try await MessageArguments.checked(by: invocation.command) {
            try await connection.query(Self.enqueue, parameters) { rows in try rows.int64(0, 0) }
        }
    }

    private struct Outcome {
        var sent = 0
        var failed = 0
        var expired = 0
        var cancelled = 0

        var ended: Int { sent + failed + expired + cancelled }
    }

    private func outcome(of id: Int64, within wait: Duration) async throws -> Outcome {
        let deadline = MonotonicInstant.now + wait
        var parameters = Parameters()
        parameters.append(id)
        // Seldom enough to cost nothing, often enough that nobody notices.
        var pause = Duration.milliseconds(20)
        while true {
            let outcome = try await connection.query(Self.results, parameters) { rows in
                Outcome(
                    sent: Int(try rows.int64(0, 0)),
                    failed: Int(try rows.int64(0, 1)),
                    expired: Int(try rows.int64(0, 2)),
                    cancelled: Int(try rows.int64(0, 3))
                )
            }
            if outcome.ended >= tokens.count || MonotonicInstant.now >= deadline { return outcome }
            try await loop.sleep(until: min(deadline, .now + pause))
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    private struct Failure {
        let token: String
        let status: Int64?
        let reason: String
    }

    private func failures(of id: Int64) async throws -> [Failure] {
        var parameters = Parameters()
        parameters.append(id)
        return try await connection.query(Self.failures, parameters) { rows in
            try rows.indices.map { row in
                Failure(
                    token: try rows.string(row, 0),
                    status: try rows.int64IfPresent(row, 1),
                    reason: try rows.string(row, 2)
                )
            }
        }
    }

    private func report(_ id: Int64, _ outcome: Outcome, _ failures: [Failure]) {
        let console = invocation.console
        if invocation.settings.isOn(.json) {
            console.print(
                .object([
                    ("id", .int(id)), ("sent", .int(Int64(outcome.sent))), ("failed", .int(Int64(outcome.failed))),
                    ("expired", .int(Int64(outcome.expired))), ("cancelled", .int(Int64(outcome.cancelled))),
                    ("waiting", .int(Int64(tokens.count - outcome.ended))),
                    (
                        "failures",
                        .array(
                            failures.map {
                                .object([
                                    ("token", .string($0.token)), ("status", $0.status.map { .int($0) } ?? .null),
                                    ("reason", .string($0.reason)),
                                ])
                            }
                        )
                    ),
                ])
            )
            return
        }
        var parts = ["\(outcome.sent) sent"]
        if outcome.failed > 0 { parts.append("\(outcome.failed) failed") }
        if outcome.expired > 0 { parts.append("\(outcome.expired) expired") }
        if outcome.cancelled > 0 { parts.append("\(outcome.cancelled) cancelled") }
        console.print("Message \(id): \(parts.joined(separator: ", ")).")
        for failure in failures {
            console.print("  \(failure.token): \(failure.status.map { "\($0) " } ?? "")\(failure.reason.visible)")
        }
    }
}
