import FoundationEssentials
import Postgres

/// A row of `message_status`, without what is known of single tokens.
struct MessageProgress: Sendable {
    static let columns = """
        m.id, m.app, m.reference, m.state, m.attempts::int8, m.next_attempt_at,
            m.last_status::int8, m.last_reason, m.tokens, m.sent, m.failed, m.expired, m.cancelled, m.waiting, m.held,
            m.created_at, m.finished_at, m.outcomes::text
        """
    private static let byID = Statement(
        "message_progress",
        """
        SELECT \(columns) FROM carillon.message_status(id => $1, app => $2) AS m ORDER BY m.created_at DESC NULLS LAST LIMIT 1
        """
    )

    let id: Int64
    let app: String?
    let reference: String?
    let state: String
    let attempts: Int64
    /// Microseconds since 1970.
    let nextAttemptAt: Int64?
    let lastStatus: Int64?
    let lastReason: String?
    let tokens: Int64
    let sent: Int
    let failed: Int
    let expired: Int
    let cancelled: Int
    let waiting: Int
    /// Why nothing of it is sent at the moment.
    let held: String?
    /// Microseconds since 1970.
    let createdAt: Int64?
    let finishedAt: Int64?
    /// JSON.
    let outcomes: String

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        id = try rows.int64(row, 0)
        app = try rows.stringIfPresent(row, 1)
        reference = try rows.stringIfPresent(row, 2)
        state = try rows.string(row, 3)
        attempts = try rows.int64IfPresent(row, 4) ?? 0
        nextAttemptAt = try rows.timestampIfPresent(row, 5)
        lastStatus = try rows.int64IfPresent(row, 6)
        lastReason = try rows.stringIfPresent(row, 7)
        tokens = try rows.int64(row, 8)
        sent = Int(try rows.int64(row, 9))
        failed = Int(try rows.int64(row, 10))
        expired = Int(try rows.int64(row, 11))
        cancelled = Int(try rows.int64(row, 12))
        waiting = Int(try rows.int64(row, 13))
        held = try rows.stringIfPresent(row, 14)
        createdAt = try rows.timestampIfPresent(row, 15)
        finishedAt = try rows.timestampIfPresent(row, 16)
        outcomes = try rows.string(row, 17)
    }

    /// Nil: there is no such message.
    /// - Parameter app: nil: whichever app has it; of several, the one that enqueued it last.
    static func read(
        _ id: Int64,
        of app: String?,
        on connection: PostgresConnection
    ) async throws -> MessageProgress? {
        var parameters = Parameters()
        parameters.append(id)
        parameters.append(app)
        return try await connection.query(byID, parameters) { rows in
            rows.isEmpty ? nil : try MessageProgress(rows, 0)
        }
    }

    var ended: Int { sent + failed + expired + cancelled }

    /// As JSON, with its tokens.
    var json: String {
        let text = JSONValue.object([
            ("id", .int(id)), ("app", JSONValue(app)), ("reference", JSONValue(reference)), ("state", .string(state)),
            ("attempts", .int(attempts)), ("next_attempt_at", JSONValue(nextAttemptAt.map(UnixTimeText.text))),
            ("last_status", lastStatus.map { .int($0) } ?? .null), ("last_reason", JSONValue(lastReason)),
            ("tokens", .int(tokens)), ("sent", .int(Int64(sent))), ("failed", .int(Int64(failed))),
            ("expired", .int(Int64(expired))), ("cancelled", .int(Int64(cancelled))), ("waiting", .int(Int64(waiting))),
            ("held", JSONValue(held)), ("created_at", JSONValue(createdAt.map(UnixTimeText.text))),
            ("finished_at", JSONValue(finishedAt.map(UnixTimeText.text))),
        ]).text
        // What PostgreSQL has written is JSON already.
        return text.dropLast() + ",\"outcomes\":\(outcomes)}"
    }

    /// A line a token that is known.
    var tokenLines: [String] {
        guard let tokens = try? JSONDecoder().decode([TokenOutcome].self, from: Data(outcomes.utf8)) else { return [] }
        return tokens.map(\.line)
    }

    private struct TokenOutcome: Decodable {
        let token: String
        let state: String
        let status: Int?
        let reason: String?

        var line: String {
            token + ": " + state + (reason.map { ", \(status.map { "\($0) " } ?? "")\($0)" } ?? "")
        }
    }

    /// What it waits for.
    var sentence: String {
        var text = waiting == 0 ? "\(state)." : "it is \(state)"
        if waiting == 0 { return text }
        if let lastReason {
            text += ", after \(lastStatus.map { "\($0) " } ?? "")\(lastReason.visible)"
        }
        if let nextAttemptAt {
            text += ", next at \(UnixTimeText.text(nextAttemptAt))"
        }
        return (text + (held.map { "; \($0.visible)" } ?? "")).asSentence
    }
}
