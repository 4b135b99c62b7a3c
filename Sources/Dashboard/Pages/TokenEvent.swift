import CarillonPostgres
import CarillonSchema
import CarillonText

/// Something that happened to a device token.
struct TokenEvent: RowReadable, JSONConvertible {
    let app: String
    let event: String
    let at: Moment?
    let message: Int64?
    let status: Int64?
    let reason: String?
    let attempt: Int64?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.string(row, "app")
        event = try rows.string(row, "event")
        at = try rows.timestampIfPresent(row, "at").map(Moment.init)
        message = try rows.int64IfPresent(row, "message_id")
        status = try rows.int64IfPresent(row, "status")
        reason = try rows.stringIfPresent(row, "reason")
        attempt = try rows.int64IfPresent(row, "attempt")
    }

    var mark: StateMark {
        switch event {
        case "registered": .good
        case "failed", "dead since", "reported dead", "reaped": .bad
        default: .quiet
        }
    }

    var json: JSONValue {
        [
            "app": app, "event": event, "at": at, "message_id": message, "status": status, "reason": reason,
            "attempt": attempt,
        ]
    }
}
