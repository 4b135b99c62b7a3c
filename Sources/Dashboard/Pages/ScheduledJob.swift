import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct ScheduledJob: RowReadable, JSONConvertible {
    let app: String?
    let id: Int64
    let message: Int64
    let runAt: Moment
    let tokens: Int64
    let attempt: Int64
    let lastStatus: Int64?
    let lastReason: String?
    let reference: String?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.stringIfPresent(row, "app")
        id = try rows.int64(row, "id")
        message = try rows.int64(row, "message_id")
        runAt = Moment(try rows.timestamp(row, "run_at"))
        tokens = try rows.int64(row, "tokens")
        attempt = try rows.int64(row, "attempt")
        lastStatus = try rows.int64IfPresent(row, "last_status")
        lastReason = try rows.stringIfPresent(row, "last_reason")
        reference = try rows.stringIfPresent(row, "reference")
    }

    var isRetry: Bool { attempt > 1 }

    var lastAnswer: String {
        guard isRetry else { return "–" }
        return [lastStatus.map(String.init), lastReason ?? "no answer"].compactMap { $0 }.joined(separator: " ")
    }

    var json: JSONValue {
        [
            "app": app, "id": id, "message_id": message, "run_at": runAt, "tokens": tokens, "attempt": attempt,
            "last_status": lastStatus, "last_reason": lastReason, "reference": reference,
        ]
    }
}
