import CarillonPostgres

/// An app as the dashboard shows it: a row of `app_status`. Nothing in it is counted beyond a bound.
struct AppSummary: RowReadable, JSONConvertible {
    /// The counting of scheduled jobs ends here.
    static let countLimit: Int64 = 1_000

    /// $1: the name of one app; null: all.
    static let statement = Statement(
        "web_apps",
        """
        SELECT s.app, s.paused, s.paused_reason, s.environment, s.protocol, s.topic, s.depth::int8,
            (SELECT count(*) FROM (
                SELECT FROM carillon.pending p WHERE p.app_id = s.app_id AND p.state = 'scheduled'
                LIMIT \(countLimit + 1)) few) AS scheduled,
            s.in_flight::int8, extract(epoch FROM s.oldest_age)::int8 AS oldest_age_seconds,
            s.sent_last_minute::int8, s.failed_last_minute::int8, s.sent_last_hour::int8, s.failed_last_hour::int8,
            s.failure_reason, s.credential, s.credential_status, s.credential_not_after,
            extract(epoch FROM s.credential_not_after - now())::int8 AS credential_expires_in_seconds,
            s.credential_error, s.hold_kind, s.hold_reason, s.held_since
        FROM carillon.app_status s WHERE $1 IS NULL OR s.app = $1 ORDER BY s.app LIMIT 500
        """
    )

    let name: String
    let isPaused: Bool
    let pauseReason: String?
    let environment: String
    let `protocol`: String
    let topic: String?
    /// Jobs that are ready; an estimate if there are many.
    let depth: Int64
    let scheduled: Int64
    let inFlight: Int64
    /// Seconds.
    let oldestAge: Int64?
    let sentLastMinute: Int64
    let failedLastMinute: Int64
    let sentLastHour: Int64
    let failedLastHour: Int64
    let failureReason: String?
    let credential: String?
    let credentialStatus: String?
    let credentialEnd: Moment?
    /// Seconds; negative once it has expired.
    let credentialExpiresIn: Int64?
    let credentialError: String?
    let holdReason: String?
    let heldSince: Moment?
    let json: JSONValue

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, "app")
        isPaused = try rows.bool(row, "paused")
        pauseReason = try rows.stringIfPresent(row, "paused_reason")
        environment = try rows.string(row, "environment")
        `protocol` = try rows.string(row, "protocol")
        topic = try rows.stringIfPresent(row, "topic")
        depth = try rows.int64(row, "depth")
        scheduled = try rows.int64(row, "scheduled")
        inFlight = try rows.int64(row, "in_flight")
        oldestAge = try rows.int64IfPresent(row, "oldest_age_seconds")
        sentLastMinute = try rows.int64(row, "sent_last_minute")
        failedLastMinute = try rows.int64(row, "failed_last_minute")
        sentLastHour = try rows.int64(row, "sent_last_hour")
        failedLastHour = try rows.int64(row, "failed_last_hour")
        failureReason = try rows.stringIfPresent(row, "failure_reason")
        credential = try rows.stringIfPresent(row, "credential")
        credentialStatus = try rows.stringIfPresent(row, "credential_status")
        credentialEnd = try rows.timestampIfPresent(row, "credential_not_after").map(Moment.init)
        credentialExpiresIn = try rows.int64IfPresent(row, "credential_expires_in_seconds")
        credentialError = try rows.stringIfPresent(row, "credential_error")
        holdReason = try rows.stringIfPresent(row, "hold_reason")
        heldSince = try rows.timestampIfPresent(row, "held_since").map(Moment.init)
        json = try JSONValue(rows, row)
    }

    enum State: String {
        case active, paused, held

        var mark: StateMark { self == .active ? .good : self == .held ? .bad : .attention }
    }

    var state: State { isPaused ? .paused : holdReason == nil ? .active : .held }
}
