import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let send = Command(
        "send",
        roles: ["carillon_app"],
        summary: "Enqueue a message and wait until it ends; a worker must be running.",
        discussion: """
            A message that has not ended within --wait stays in the queue, unless a lock prevented it from being enqueued. For an
            app with --keep-unique-ids, prints the apns-unique-id of each push, by which Apple's push console finds it.

            With --json, prints an object with the id of the message, the counts sent, failed, expired, cancelled and waiting, and
            failures, as 'failures list --json' prints them; with --wait 0s, only the id.
            """,
        required: [.app, .token],
        options: MessageArguments.options + [.wait, .json, .database],
        exits: [
            .done: "The push was sent to every token.",
            .failed: "It failed, expired or was cancelled for a token.",
            .tryAgain: "It has not ended within --wait.",
        ],
        examples: [
            "carillon send --app acme --token 9f3a... --alert 'Your parcel is here'",
            "carillon send --app acme --token 9f3a... --payload '{\"aps\":{\"content-available\":1}}' --push-type background",
        ],
        run: { invocation in
            // A lock is not waited for longer than the outcome. A lock_timeout of 0 would mean no limit, unlike --wait 0s.
            let wait = invocation.settings.duration(.wait)
            let limit = wait > .zero ? min(wait, .seconds(86_400)) : .seconds(10)
            let milliseconds = max(1, limit.nanoseconds / 1_000_000)
            let settings = SessionSettings.unhurried.with(["lock_timeout": "\(milliseconds)ms"])
            return try await DatabaseScope.with(invocation, settings: settings) { connection, loop in
                try await SendCommand(invocation: invocation, connection: connection, loop: loop).run()
            }
        }
    )
}

private struct SendCommand {
    private static let enqueue = Statement(
        "send_enqueue",
        "SELECT carillon.enqueue(app => $1, tokens => $2, \(MessageArguments.named(from: 3)))"
    )
    private static let failures = Statement(
        "send_failures",
        """
        SELECT \(FailureRecord.columns) FROM carillon.failures f JOIN carillon.apps a ON a.id = f.app_id
        WHERE a.name = $2 AND (f.message_id = $1
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
        // Printed before waiting: a user who interrupts needs the id.
        if !isJSON { invocation.console.print("Enqueued as message \(id).") }
        guard wait > .zero else {
            if isJSON { invocation.console.print(json: ["id": id]) }
            return .done
        }
        if isJSON { invocation.console.note("Enqueued as message \(id).") }
        let progress = try await follow(id, for: wait)
        let failures = progress.ended.failed > 0 ? try await self.failures(of: id) : []
        if progress.ended.total > 0 || isJSON { report(id, progress, failures) }
        guard progress.waiting == 0 else {
            throw CommandError(
                .tryAgain,
                "No outcome within \(DurationText.write(wait)); message \(id) is still enqueued: \(progress.condition)",
                hint:
                    "'carillon message show \(id)' shows its state, 'carillon message cancel \(id)' cancels it, and "
                    + "'carillon status' shows whether a worker is running."
            )
        }
        return progress.ended.sent == progress.ended.total ? .done : .failed
    }

    private func enqueue() async throws -> Int64 {
        let settings = invocation.settings
        var parameters = Parameters(settings.text(.app), PostgresArray(settings.texts(.token)))
        MessageArguments.append(settings, to: &parameters)
        do {
            return try await MessageArguments.enqueue(Self.enqueue, parameters, by: invocation, on: connection) {
                rows in
                try rows.int64(0, 0)
            }
        } catch let error as PostgresError where error.sqlState == SQLState.lockNotAvailable {
            throw CommandError(
                .tryAgain,
                "Not enqueued in time, because another session holds a lock.",
                hint: "Nothing is sent: run the command again when the lock is gone."
            )
        }
    }

    /// Polls until the message has ended or the time is over, and prints each change of what it waits for.
    private func follow(_ id: Int64, for wait: Duration) async throws -> MessageStatus {
        let deadline = MonotonicInstant.now + wait
        // Not printed if the message is sent within this time.
        let quiet = MonotonicInstant.now + .milliseconds(500)
        var told = ""
        // The interval grows, so that polling costs little.
        var pause = BackOff(from: .milliseconds(20), to: .milliseconds(500))
        while true {
            let app = invocation.settings.text(.app)
            guard let progress = try await MessageStatus.all(id, of: app, from: connection).first else {
                throw CommandError(
                    .failed,
                    "Message \(id) is gone from the queue and from its history.",
                    hint: "Did somebody delete its row, or drop the history?"
                )
            }
            if progress.waiting == 0 || MonotonicInstant.now >= deadline { return progress }
            if MonotonicInstant.now >= quiet, progress.condition != told {
                told = progress.condition
                invocation.console.note("Waiting: \(told)")
            }
            try await loop.sleep(until: min(deadline, .now + pause.maxWait))
            pause.lengthen()
        }
    }

    private func failures(of id: Int64) async throws -> [FailureRecord] {
        try await connection.values(of: Self.failures, Parameters(id, invocation.settings.text(.app)))
    }

    private func report(_ id: Int64, _ outcome: MessageStatus, _ failures: [FailureRecord]) {
        let console = invocation.console
        let identified = outcome.tokenOutcomes.filter { $0.wasSent && $0.uniqueID != nil }
        if invocation.settings.isOn(.json) {
            var rest: JSONValue = ["waiting": outcome.waiting, "failures": failures]
            if !identified.isEmpty {
                let ids = Dictionary(identified.map { ($0.token, $0.uniqueID ?? "") }) { first, _ in first }
                rest = .joined(rest, ["apns_unique_ids": JSONValue(ids)])
            }
            console.print(json: .joined(["id": id], outcome.ended.json, rest))
            return
        }
        console.print("Message \(id): \(outcome.counts).")
        for failure in failures {
            let id = failure.apnsUniqueID.map { ", apns-unique-id \($0)" } ?? ""
            console.print("  \(failure.token): \(failure.answer.visible)\(id)")
        }
        for token in identified { console.print("  \(token.line.visible)") }
    }
}
