import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct FailureRow: RowReadable {
    let app: String
    let message: Int64
    let reference: String?
    let token: String
    let status: Int64?
    let reason: String
    let attempt: Int64
    let failedAt: Moment
    let isRequeued: Bool
    let isDismissed: Bool

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.string(row, "app")
        message = try rows.int64(row, "message_id")
        reference = try rows.stringIfPresent(row, "reference")
        token = try rows.string(row, "token")
        status = try rows.int64IfPresent(row, "status")
        reason = try rows.string(row, "reason")
        attempt = try rows.int64(row, "attempt")
        failedAt = Moment(try rows.timestamp(row, "failed_at"))
        isRequeued = try rows.bool(row, "requeued")
        isDismissed = try rows.bool(row, "dismissed")
    }

    func json(_ tokens: TokenDisplay) -> JSONValue {
        [
            "app": app, "message_id": message, "reference": reference, "token": tokens.text(token), "status": status,
            "reason": reason, "attempt": attempt, "failed_at": failedAt, "requeued": isRequeued,
            "dismissed": isDismissed,
        ]
    }
}
