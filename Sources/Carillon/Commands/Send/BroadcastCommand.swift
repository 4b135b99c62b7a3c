import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let broadcast = Command(
        "broadcast",
        roles: ["carillon_app"],
        summary: "Enqueue a message to every registered token of an app, and wait until it ends.",
        discussion:
            "Pushes that have not ended within --wait are still sent; 'carillon message cancel ID' cancels them.",
        required: [.app],
        options: MessageArguments.options + [.wait, .json, .database],
        exits: [
            .done: "Every push has ended, sent or not, or the app has no tokens.",
            .tryAgain: "Some pushes have not ended within --wait.",
        ],
        examples: [
            "carillon broadcast --app acme --alert 'Open until midnight'",
            "carillon broadcast --app acme --alert 'Open until midnight' --wait 1h",
        ],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, loop in
                try await BroadcastCommand(invocation: invocation, connection: connection, loop: loop).run()
            }
        }
    )
}

private struct BroadcastCommand {
    private static let enqueue = Statement(
        "broadcast_enqueue",
        "SELECT carillon.broadcast(app => $1, \(MessageArguments.named(from: 2)))"
    )
    private static let progress = Statement(
        "broadcast_progress",
        """
        SELECT $1::int8 AS id, p.tokens, p.sent, p.failed, p.expired, p.cancelled, p.waiting
        FROM carillon.broadcast_progress($1, app => $2) AS p
        """
    )

    let invocation: Invocation
    let connection: PostgresConnection
    let loop: EventLoop

    private struct Progress: Decodable, Sendable {
        let tokens: Int
        let ended: EndedPushes
        let waiting: Int
        let json: JSONValue

        var isFinished: Bool { waiting <= 0 }

        var text: String {
            (["\(ended.sent.grouped) of \(tokens.grouped) sent"] + ended.unsentTexts).joined(separator: ", ")
        }
    }

    func run() async throws -> ExitStatus {
        let isJSON = invocation.settings.isOn(.json)
        guard let id = try await enqueue() else {
            if isJSON {
                invocation.console.print(json: ["id": Int64?.none, "tokens": 0])
            } else {
                let app = invocation.settings.required(.app)
                invocation.console.print("App '\(app.visible)' has no registered tokens: nothing was enqueued.")
            }
            return .done
        }
        let wait = invocation.settings.duration(.wait)
        if !isJSON {
            invocation.console.print("Enqueued as message \(id).")
            invocation.console.note("'carillon message cancel \(id)' cancels it.")
        }
        guard wait > .zero else {
            if isJSON { invocation.console.print(json: ["id": id]) }
            return .done
        }
        let progress = try await follow(id, for: wait)
        if isJSON {
            invocation.console.print(json: progress.json)
        } else {
            invocation.console.print("Broadcast \(id): \(progress.text).")
        }
        guard progress.isFinished else {
            throw CommandError(
                .tryAgain,
                "After \(DurationText.write(wait)), \(progress.waiting.grouped) pushes have not ended; they are still sent.",
                hint: "'carillon message show \(id)' shows the progress."
            )
        }
        return .done
    }

    /// Nil if the app has no registered tokens.
    private func enqueue() async throws -> Int64? {
        var parameters = Parameters(invocation.settings.text(.app))
        MessageArguments.append(invocation.settings, to: &parameters)
        return try await MessageArguments.enqueue(Self.enqueue, parameters, by: invocation, on: connection) { rows in
            try rows.int64IfPresent(0, 0)
        }
    }

    /// Polls until it has ended, or the time is over.
    private func follow(_ id: Int64, for wait: Duration) async throws -> Progress {
        let start = MonotonicInstant.now
        let deadline = start + wait
        let line = ProgressLine(invocation.console.errors)
        defer { line.clear() }
        // The interval grows, so that polling costs little.
        var pause = BackOff(from: .milliseconds(20), to: .milliseconds(500))
        while true {
            let progress = try await readProgress(of: id)
            if progress.isFinished || MonotonicInstant.now >= deadline { return progress }
            let ended = progress.tokens - progress.waiting
            let rate = Int(Double(ended) / max(0.1, (MonotonicInstant.now - start).seconds))
            line.show("\(progress.text); \(rate.grouped) a second")
            try await loop.sleep(until: min(deadline, .now + pause.maxWait))
            pause.lengthen()
        }
    }

    private func readProgress(of id: Int64) async throws -> Progress {
        let parameters = Parameters(id, invocation.settings.text(.app))
        return try await connection.query(Self.progress, parameters) { try $0.record(0) }
    }
}
