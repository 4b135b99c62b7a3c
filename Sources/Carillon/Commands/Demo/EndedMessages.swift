import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText

/// Prints one line about each message when it has ended. Retries are in the log of the worker.
struct EndedMessages {
    /// Messages that have ended within the last minute, with nothing waiting. A message that was cut into several jobs
    /// is one message.
    private static let ended = Statement(
        "try_ended",
        """
        SELECT n.id, a.name AS app, (
            SELECT CASE count(*) WHEN 1 THEN min(f.reason)
                ELSE string_agg(f.count || ' ' || f.reason, ', ' ORDER BY f.count DESC, f.reason) END
            FROM (
                SELECT f.reason, count(*) FROM carillon.failures f
                WHERE f.app_id = n.app_id AND f.message_id = ANY (m.ids) GROUP BY f.reason) f) AS reasons
        FROM (
            SELECT DISTINCT r.app_id, coalesce(r.broadcast_id, r.message_id) AS id FROM carillon.results r
            WHERE r.finished_at > now() - interval '1 minute'
                AND coalesce(r.broadcast_id, r.message_id) <> ALL ($1)) n
        CROSS JOIN LATERAL (
            SELECT sum(r.sent + r.failed + r.expired + r.cancelled) AS ended, array_agg(r.message_id) AS ids
            FROM carillon.results r
            WHERE r.app_id = n.app_id AND (r.message_id = n.id OR r.broadcast_id = n.id)) m
        LEFT JOIN carillon.apps a ON a.id = n.app_id
        LEFT JOIN carillon.split_messages b ON b.app_id = n.app_id AND b.id = n.id
        WHERE m.ended >= coalesce(b.tokens, 0)
        ORDER BY n.id LIMIT 100
        """
    )
    private static let holds = Statement(
        "try_holds",
        "SELECT string_agg(s.hold_reason, ' ') AS reason FROM carillon.app_status s"
    )
    private static let left = Statement(
        "try_left",
        """
        SELECT coalesce(sum(p.token_count), 0)::int8 AS pushes,
            count(DISTINCT coalesce(p.broadcast_id, p.origin, p.id)) AS messages,
            string_agg(DISTINCT concat_ws(' ', p.last_status, p.last_reason), ', ') FILTER (WHERE p.last_reason <> '')
                AS reasons
        FROM carillon.pending p
        """
    )
    let connection: PostgresConnection

    private struct Ended: Decodable, Sendable {
        let id: Int64
        let app: String?
        /// Why pushes failed. If there are several reasons, with their counts, the most frequent first.
        let reasons: String?
    }

    /// Runs until it is interrupted; throws then.
    func tell(every pause: Duration, on loop: EventLoop, _ say: (String) -> Void) async throws {
        var told: [Int64] = []
        while true {
            let news: [Ended] = try await connection.values(of: Self.ended, Parameters(PostgresArray(told)))
            for ended in news {
                for message in try await MessageStatus.all(ended.id, of: ended.app, from: connection) {
                    say(Self.line(message, ended.reasons))
                }
            }
            // The messages of the last minute are among the newest.
            told = Array((told + news.map(\.id)).suffix(10_000))
            try await loop.sleep(for: pause)
        }
    }

    private static func line(_ message: MessageStatus, _ reasons: String?) -> String {
        "Message \(message.id): \(message.counts)"
            + (message.attempts.map { $0 > 0 ? ", after " + Counted.text($0, "attempt") : "" } ?? "")
            + (reasons.map { " (\($0.visible))" } ?? "") + "."
    }

    /// Why apps cannot send; nil if they can. A worker removes its holds when it ends.
    func holds() async throws -> String? {
        try await connection.query(Self.holds) { rows in try rows.stringIfPresent(0, "reason") }
    }

    /// A line about what has not ended, and why; nil if everything has ended.
    func left(becauseOf hold: String?) async throws -> String? {
        try await connection.query(Self.left) { rows in
            let pushes = try rows.int64(0, "pushes")
            let messages = try rows.int64(0, "messages")
            let reasons = try rows.stringIfPresent(0, "reasons")
            guard messages > 0 else { return nil }
            return Counted.text(pushes, "push", "pushes") + " of " + Counted.text(messages, "message")
                + (pushes == 1 ? " has not ended." : " have not ended.")
                + (hold.map { " \($0.visible)" } ?? "")
                + (reasons.map { " The last attempts ended with \($0.visible)." } ?? "")
        }
    }
}

extension ReceivedRequest {
    /// A request as a line for people: its answer, the headers that differ from the default, and the payload.
    func line(usualTopic: String) -> String {
        let answer = (status.map { "\($0)" } ?? "no answer") + (reason.map { " \($0)" } ?? "")
        let subject = channelAction.map { "\($0) \(channel ?? "")" } ?? "\(token.prefix(8))…"
        let parts = ["APNs      \(subject)", answer, unusual(usualTopic).joined(separator: ", ")]
        return (parts.filter { !$0.isEmpty } + [String(decoding: payload, as: UTF8.self)])
            .joined(separator: "  ").visible
    }

    private func unusual(_ usualTopic: String) -> [String] {
        var headers: [String] = []
        if let pushType, pushType != "alert" { headers.append("push type \(pushType)") }
        if let priority, priority != "10" { headers.append("priority \(priority)") }
        if let collapseID { headers.append("collapse id \(collapseID)") }
        if let topic, topic != usualTopic { headers.append("topic \(topic)") }
        if expiration == "0" {
            headers.append("not stored")
        } else if let expiration {
            headers.append("expires \(Int64(expiration).map { TimeText.seconds($0 * 1_000_000) } ?? expiration)")
        }
        return headers
    }
}
