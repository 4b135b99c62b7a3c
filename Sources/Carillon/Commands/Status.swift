import IO
import Postgres

extension Command {
    static let status = Command(
        "status",
        summary: "Show for each app what waits, what was sent and what failed, and which workers live.",
        options: [.watch, .interval, .json, .database],
        examples: ["carillon status --watch", "carillon status --json | jq '.apps[] | select(.depth > 1000)'"],
        run: { invocation in
            try await DatabaseScope.with(invocation, to: .any) { connection, loop in
                try await Interruption.cancelling(on: loop) {
                    try await show(invocation, connection, loop)
                }
            }
            return .done
        }
    )

    private static func show(
        _ invocation: Invocation,
        _ connection: PostgresConnection,
        _ loop: EventLoop
    ) async throws {
        let console = invocation.console
        let isWatching = invocation.settings.isOn(.watch)
        while true {
            let snapshot = try await StatusSnapshot.read(from: connection)
            if invocation.settings.isOn(.json) {
                console.print(snapshot.json)
            } else {
                // On a terminal each look takes the place of the one before.
                if isWatching, console.output.isTerminal { console.output.write("\u{1B}[H\u{1B}[2J") }
                console.output.write(snapshot.text(for: console.output))
            }
            guard isWatching else { return }
            do {
                try await loop.sleep(for: invocation.settings.duration(.interval))
            } catch {
                return  // interrupted, which is how watching ends
            }
        }
    }
}
