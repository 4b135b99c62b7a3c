import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// A push of a message that failed.
struct MessageFailure: RowReadable {
    let token: String
    let status: Int64?
    let reason: String
    let attempt: Int64
    let failedAt: Moment
    let requeuedAt: Moment?
    let unregisteredAt: Moment?
    let apnsID: String?
    /// How many of those that were looked at have its status and reason.
    let ofReason: Int64

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        token = try rows.string(row, "token")
        status = try rows.int64IfPresent(row, "status")
        reason = try rows.string(row, "reason")
        attempt = try rows.int64(row, "attempt")
        failedAt = Moment(try rows.timestamp(row, "failed_at"))
        requeuedAt = try rows.timestampIfPresent(row, "requeued_at").map(Moment.init)
        unregisteredAt = try rows.timestampIfPresent(row, "unregistered_at").map(Moment.init)
        apnsID = try rows.stringIfPresent(row, "apns_id")
        ofReason = try rows.int64(row, "of_reason")
    }

    var answer: String { (status.map { "\($0) " } ?? "") + reason }

    func json(_ tokens: TokenDisplay) -> JSONValue {
        [
            "token": tokens.text(token), "status": status, "reason": reason, "attempt": attempt, "failed_at": failedAt,
            "requeued_at": requeuedAt, "unregistered_at": unregisteredAt, "apns_id": apnsID,
        ]
    }
}
