import IO
import Postgres

/// What became of messages, as lines, each once. That a push is tried again the worker's log says.
struct TryoutNews {
    private static let ended = Statement(
        "try_ended",
        """
        SELECT r.message_id FROM carillon.results r
        WHERE r.finished_at > now() - interval '1 minute' AND r.message_id <> ALL ($1) ORDER BY r.message_id LIMIT 100
        """
    )
    let connection: PostgresConnection

    /// Goes on until it is interrupted, and throws then.
    func tell(every pause: Duration, on loop: EventLoop, _ say: (String) -> Void) async throws {
        var ended: [Int64] = []
        while true {
            var parameters = Parameters()
            parameters.append(PostgresArray(ended))
            let news = try await connection.query(Self.ended, parameters) { rows in
                try rows.indices.map { try rows.int64($0, 0) }
            }
            for id in news {
                for message in try await MessageProgress.all(id, of: nil, on: connection) { say(Self.line(message)) }
            }
            // Those of the last minute are among the newest; nobody pastes more in a minute than this.
            ended = Array((ended + news).suffix(10_000))
            try await loop.sleep(for: pause)
        }
    }

    private static func line(_ message: MessageProgress) -> String {
        "Message \(message.id): \(message.counts), after \(Counted.text(message.attempts, "attempt"))"
            + (message.failed > 0 ? message.lastReason.map { " (\($0.visible))" } ?? "" : "") + "."
    }
}
