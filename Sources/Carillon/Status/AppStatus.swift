import Postgres

/// A row of `app_status`.
struct AppStatus: Sendable {
    static let statement = Statement(
        "status_apps",
        """
        SELECT s.app, s.paused, s.depth::int8, s.in_flight::int8, extract(epoch FROM s.oldest_age)::int8,
            s.sent_last_minute::int8, s.failed_last_minute::int8, s.sent_last_hour::int8, s.failed_last_hour::int8,
            s.credential, s.credential_status, s.credential_error,
            (SELECT count(*) FROM carillon.pending p WHERE p.app_id = s.app_id AND p.state = 'scheduled'),
            extract(epoch FROM s.credential_not_after - now())::int8, s.paused_reason, s.hold_kind, s.hold_reason
        FROM carillon.app_status s ORDER BY s.app
        """
    )

    /// The row of one app, by its name.
    static let one = Statement(
        "status_app",
        statement.sql.replacing(" ORDER BY s.app", with: " WHERE s.app = $1")
    )

    let name: String
    let isPaused: Bool
    let pauseReason: String?
    /// Why it cannot send at the moment.
    let holdKind: String?
    let holdReason: String?
    let depth: Int64
    let inFlight: Int64
    /// Seconds.
    let oldestAge: Int64?
    let sentLastMinute: Int64
    let failedLastMinute: Int64
    let sentLastHour: Int64
    let failedLastHour: Int64
    let credential: String?
    let credentialStatus: String?
    let credentialError: String?
    let scheduled: Int64
    /// Seconds; less than nothing once it has expired.
    let credentialExpiresIn: Int64?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, 0)
        isPaused = try rows.bool(row, 1)
        depth = try rows.int64(row, 2)
        inFlight = try rows.int64(row, 3)
        oldestAge = try rows.int64IfPresent(row, 4)
        sentLastMinute = try rows.int64(row, 5)
        failedLastMinute = try rows.int64(row, 6)
        sentLastHour = try rows.int64(row, 7)
        failedLastHour = try rows.int64(row, 8)
        credential = try rows.stringIfPresent(row, 9)
        credentialStatus = try rows.stringIfPresent(row, 10)
        credentialError = try rows.stringIfPresent(row, 11)
        scheduled = try rows.int64(row, 12)
        credentialExpiresIn = try rows.int64IfPresent(row, 13)
        pauseReason = try rows.stringIfPresent(row, 14)
        holdKind = try rows.stringIfPresent(row, 15)
        holdReason = try rows.stringIfPresent(row, 16)
    }

    var json: JSONValue {
        .object([
            ("app", .string(name)), ("paused", .bool(isPaused)), ("paused_reason", JSONValue(pauseReason)),
            ("depth", .int(depth)), ("scheduled", .int(scheduled)),
            ("in_flight", .int(inFlight)), ("oldest_age_seconds", oldestAge.map { .int($0) } ?? .null),
            ("sent_last_minute", .int(sentLastMinute)), ("failed_last_minute", .int(failedLastMinute)),
            ("sent_last_hour", .int(sentLastHour)), ("failed_last_hour", .int(failedLastHour)),
            ("credential", JSONValue(credential)), ("credential_status", JSONValue(credentialStatus)),
            ("credential_expires_in_seconds", credentialExpiresIn.map { .int($0) } ?? .null),
            ("credential_error", JSONValue(credentialError)), ("hold_kind", JSONValue(holdKind)),
            ("hold_reason", JSONValue(holdReason)),
        ])
    }
}
