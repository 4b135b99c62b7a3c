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
    private static let failures = Statement(
        "send_failures",
        """
        SELECT f.token, f.status, f.reason FROM carillon.failures f
        WHERE f.app_id = (SELECT a.id FROM carillon.apps a WHERE a.name = $2) AND (f.message_id = $1
            OR f.message_id IN (
                SELECT r.message_id FROM carillon.results r WHERE r.broadcast_id = $1 AND r.app_id = f.app_id))
        ORDER BY f.token
        """
    )

    let invocation: Invocation
    let connection: PostgresConnection
    let loop: EventLoop

    func run() async throws -> ExitStatus {
        let id = try await enqueue()
        let wait = invocation.settings.duration(.wait)
        let isJSON = invocation.settings.isOn(.json)
        guard wait > .zero else {
            invocation.console.print(isJSON ? JSONValue.object([("id", .int(id))]).text : "Enqueued as \(id).")
            return .done
        }
        // At once: whoever breaks off the waiting knows what to ask for.
        if isJSON {
            invocation.console.note("Enqueued as \(id).")
        } else {
            invocation.console.print("Enqueued as \(id).")
        }
        let progress = try await follow(id, for: wait)
        let failures = progress.failed > 0 ? try await self.failures(of: id) : []
        if progress.ended > 0 || isJSON { report(id, progress, failures) }
        guard progress.waiting == 0 else {
            throw CommandError(
                .tryAgain,
                "No outcome came within \(DurationText.write(wait)); message \(id) is still enqueued: \(progress.sentence)",
                hint:
                    "'carillon message show \(id)' tells how it stands, 'carillon message cancel \(id)' takes it back. "
                    + "Is a worker running, and the app not paused? 'carillon status' tells."
            )
        }
        return progress.sent == progress.ended ? .done : .failed
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

    /// Looks until it has ended, or the time is over, and says whenever it waits for something else.
    private func follow(_ id: Int64, for wait: Duration) async throws -> MessageProgress {
        let deadline = MonotonicInstant.now + wait
        // A message that is on its way within this time is no news.
        let quiet = MonotonicInstant.now + .milliseconds(500)
        var told = ""
        // Seldom enough to cost nothing, often enough that nobody notices.
        var pause = Duration.milliseconds(20)
        while true {
            let progress = try await MessageProgress.read(id, of: invocation.settings.text(.app), on: connection)
            guard let progress else {
                throw CommandError(
                    .failed,
                    "Message \(id) is gone from the queue and from its history.",
                    hint: "Was it enqueued in a transaction that somebody rolled back, or the history dropped?"
                )
            }
            if progress.waiting == 0 || MonotonicInstant.now >= deadline { return progress }
            if MonotonicInstant.now >= quiet, progress.sentence != told {
                told = progress.sentence
                invocation.console.note("Waiting: \(told)")
            }
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
        parameters.append(invocation.settings.text(.app))
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

    private func report(_ id: Int64, _ outcome: MessageProgress, _ failures: [Failure]) {
        let console = invocation.console
        if invocation.settings.isOn(.json) {
            console.print(
                .object([
                    ("id", .int(id)), ("sent", .int(Int64(outcome.sent))), ("failed", .int(Int64(outcome.failed))),
                    ("expired", .int(Int64(outcome.expired))), ("cancelled", .int(Int64(outcome.cancelled))),
                    ("waiting", .int(Int64(outcome.waiting))),
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
