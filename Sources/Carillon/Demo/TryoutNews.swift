import IO
import Postgres

/// What becomes of messages, as lines, each once.
struct TryoutNews {
    private static let ended = Statement(
        "try_ended",
        """
        SELECT r.message_id FROM carillon.results r
        WHERE r.finished_at > now() - interval '1 minute' AND r.message_id <> ALL ($1) ORDER BY r.message_id LIMIT 100
        """
    )
    private static let again = Statement(
        "try_again",
        """
        SELECT p.id, p.attempt::int8, coalesce(p.last_status || ' ', '') || p.last_reason FROM carillon.pending p
        WHERE p.state = 'scheduled' AND p.last_reason IS NOT NULL ORDER BY p.id LIMIT 100
        """
    )

    let connection: PostgresConnection

    private struct Wait: Hashable {
        let message: Int64
        let attempt: Int64
    }

    /// Goes on until it is interrupted, and throws then.
    func tell(every pause: Duration, on loop: EventLoop, _ say: (String) -> Void) async throws {
        var ended: [Int64] = []
        var waits: Set<Wait> = []
        while true {
            for wait in try await waiting() where waits.insert(wait.key).inserted {
                say("Message \(wait.key.message) is tried again, after \(wait.cause.visible).")
            }
            var parameters = Parameters()
            parameters.append(PostgresArray(ended))
            let news = try await connection.query(Self.ended, parameters) { rows in
                try rows.indices.map { try rows.int64($0, 0) }
            }
            for id in news {
                if let message = try await MessageProgress.read(id, on: connection) { say(Self.line(message)) }
            }
            // Those of the last minute are among the newest; nobody pastes more in a minute than this.
            ended = Array((ended + news).suffix(10_000))
            try await loop.sleep(for: pause)
        }
    }

    private func waiting() async throws -> [(key: Wait, cause: String)] {
        try await connection.query(Self.again) { rows in
            try rows.indices.map {
                (Wait(message: try rows.int64($0, 0), attempt: try rows.int64($0, 1)), try rows.string($0, 2))
            }
        }
    }

    private static func line(_ message: MessageProgress) -> String {
        "Message \(message.id): \(message.sent) sent, \(message.failed) failed, after "
            + Counted.text(message.attempts, "attempt")
            + (message.failed > 0 ? message.lastReason.map { " (\($0.visible))" } ?? "" : "") + "."
    }
}
