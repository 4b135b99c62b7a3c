import CarillonPostgres

/// A row of `app_status`.
struct AppStatus: RowReadable, JSONConvertible {
    static let statement = Statement(
        "status_apps",
        """
        SELECT s.app, s.paused, s.paused_reason, s.depth::int8,
            (SELECT count(*) FROM carillon.pending p WHERE p.app_id = s.app_id AND p.state = 'scheduled') AS scheduled,
            s.in_flight::int8, extract(epoch FROM s.oldest_age)::int8 AS oldest_age_seconds,
            s.sent_last_minute::int8, s.failed_last_minute::int8, s.sent_last_hour::int8, s.failed_last_hour::int8,
            s.failure_reason, s.credential, s.credential_status,
            extract(epoch FROM s.credential_not_after - now())::int8 AS credential_expires_in_seconds,
            s.credential_error, s.hold_kind, s.hold_reason
        FROM carillon.app_status s ORDER BY s.app
        """
    )

    /// Restricted to one app, by name.
    static let one = Statement("status_app", statement.sql.replacing(" ORDER BY s.app", with: " WHERE s.app = $1"))

    let name: String
    let isPaused: Bool
    let pauseReason: String?
    /// Why the app cannot send at the moment.
    let holdReason: String?
    let depth: Int64
    let inFlight: Int64
    /// Seconds.
    let oldestAge: Int64?
    let sentLastMinute: Int64
    let failedLastMinute: Int64
    let sentLastHour: Int64
    let failedLastHour: Int64
    /// The most frequent reason among the latest failures.
    let failureReason: String?
    let credential: String?
    let credentialStatus: String?
    let credentialError: String?
    let scheduled: Int64
    /// In seconds; negative once it has expired.
    let credentialExpiresIn: Int64?
    let json: JSONValue

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, "app")
        isPaused = try rows.bool(row, "paused")
        depth = try rows.int64(row, "depth")
        inFlight = try rows.int64(row, "in_flight")
        oldestAge = try rows.int64IfPresent(row, "oldest_age_seconds")
        sentLastMinute = try rows.int64(row, "sent_last_minute")
        failedLastMinute = try rows.int64(row, "failed_last_minute")
        sentLastHour = try rows.int64(row, "sent_last_hour")
        failedLastHour = try rows.int64(row, "failed_last_hour")
        failureReason = try rows.stringIfPresent(row, "failure_reason")
        credential = try rows.stringIfPresent(row, "credential")
        credentialStatus = try rows.stringIfPresent(row, "credential_status")
        credentialError = try rows.stringIfPresent(row, "credential_error")
        scheduled = try rows.int64(row, "scheduled")
        credentialExpiresIn = try rows.int64IfPresent(row, "credential_expires_in_seconds")
        pauseReason = try rows.stringIfPresent(row, "paused_reason")
        holdReason = try rows.stringIfPresent(row, "hold_reason")
        json = try JSONValue(rows, row)
    }
}
