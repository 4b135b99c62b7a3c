import CarillonIO
import CarillonPostgres

extension Command {
    static let status = Command(
        "status",
        roles: ["carillon_reader", "carillon_worker"],
        summary: "Show what waits, what was sent and what failed for each app, and which workers are alive.",
        discussion: """
            With --watch, repeats this until it is interrupted or its output is closed, and reconnects when the database restarts.

            With --json, prints an object with two arrays. apps has members named like the columns of app_status and, as
            scheduled, the number of jobs that are due later. workers has members named like the columns of worker_status.
            Durations are in seconds, such as oldest_age_seconds.
            """,
        options: [.watch, .interval, .json, .database],
        examples: ["carillon status --watch", "carillon status --json | jq '.apps[] | select(.ready > 1000)'"],
        run: { invocation in
            try await EventLoop.with(name: "command") { loop in
                try await Interruption.cancelling(on: loop) {
                    try await StatusWatch(invocation: invocation, loop: loop).run()
                }
            }
            return .done
        }
    )
}

/// Prints the status once, or repeatedly until it is interrupted or its reader has gone.
private struct StatusWatch {
    let invocation: Invocation
    let loop: EventLoop

    func run() async throws {
        var hasShown = false
        while true {
            do {
                try await DatabaseScope.with(invocation, on: loop, to: .any) { connection in
                    try await show(from: connection) { hasShown = true }
                }
                return
            } catch {
                // A server that restarts will come back. If it was never reached, that is an error.
                let failure = CommandError(explaining: error)
                guard hasShown, isWatching, failure.status == .unavailable || failure.status == .tryAgain,
                    !Task.isCancelled
                else { throw error }
                invocation.console.note("\(failure.sentence) Trying again.")
                guard await rest() else { return }
            }
        }
    }

    private var isWatching: Bool { invocation.settings.isOn(.watch) }

    private func show(from connection: PostgresConnection, _ shown: () -> Void) async throws {
        let console = invocation.console
        while true {
            let snapshot = try await StatusSnapshot.read(from: connection)
            invocation.show(snapshot.json) { console in
                // On a terminal, each snapshot replaces the one before.
                if isWatching, console.output.isTerminal { console.output.write("\u{1B}[H\u{1B}[2J") }
                console.output.write(snapshot.text(for: console.output))
            }
            shown()
            guard isWatching, !console.output.fault.isReaderGone, console.output.fault.sentence == nil, await rest()
            else { return }
        }
    }

    /// False if it was interrupted, which is the normal end of watching.
    private func rest() async -> Bool {
        do {
            try await loop.sleep(for: invocation.settings.duration(.interval))
            return true
        } catch {
            return false
        }
    }
}
