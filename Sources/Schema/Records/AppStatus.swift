package import CarillonPostgres
package import CarillonText

/// A row of `app_status`.
package struct AppStatus: Record {
    /// $1: the name of one app, null: all; $2: how far scheduled jobs are counted, null: all; $3: at most so many apps, null: all;
    /// $4: those whose names come after this one, null: all; $5: how far ready jobs are counted, and estimated beyond.
    private static let statement = Statement(
        "status_apps",
        """
        SELECT s.app, s.paused, s.paused_reason, s.environment, s.protocol, s.topic,
            d.ready, carillon.depth_precision(d.ready, $5) AS ready_precision, d.scheduled,
            CASE WHEN d.scheduled >= $2 THEN 'at least' ELSE 'exact' END AS scheduled_precision,
            s.in_flight::int8, extract(epoch FROM s.oldest_age)::int8 AS oldest_age_seconds,
            s.sent_last_minute::int8, s.failed_last_minute::int8, s.sent_last_hour::int8, s.failed_last_hour::int8,
            s.failure_reason, s.credential, s.credential_status, s.credential_not_after,
            \(secondsUntil("s.credential_not_after")) AS credential_expires_in_seconds,
            s.credential_error, s.hold_kind, s.hold_reason, s.held_since
        FROM carillon.app_status s CROSS JOIN LATERAL (
            SELECT carillon.queue_depth(s.app_id, $5) AS ready, carillon.scheduled_depth(s.app_id, $2) AS scheduled OFFSET 0) d
        WHERE s.app_id IN (
            SELECT a.id FROM carillon.apps a WHERE ($1 IS NULL OR a.name = $1) AND ($4 IS NULL OR a.name > $4)
            ORDER BY a.name LIMIT $3)
        ORDER BY s.app
        """
    )

    /// The seconds until a time that may be any: a certificate may say 9999, and a row infinity.
    package static func secondsUntil(_ time: String) -> String {
        "CASE WHEN \(time) IS NOT NULL THEN extract(epoch FROM "
            + "least(greatest(\(time), '2000-01-01 00:00+00'), '10000-01-01 00:00+00') - now())::int8 END"
    }

    /// So many ready jobs of one app are counted.
    private static let usualCount: Int64 = 1_000

    /// - Parameters:
    ///   - previous: only the apps whose names come after this one.
    ///   - bound: how far the ready and the scheduled jobs of one app are counted. If nil, all scheduled ones are counted.
    package static func all(
        named name: String? = nil,
        after previous: String? = nil,
        maxRows: Int64? = nil,
        countingTo bound: Int64? = nil,
        from database: some StatementRunner
    ) async throws -> [AppStatus] {
        let ready = min(usualCount, bound ?? usualCount)
        let scheduled: Int64? = bound == nil ? nil : ready + 1
        return try await database.values(of: statement, Parameters(name, scheduled, maxRows, previous, ready))
    }

    package let name: String
    package let isPaused: Bool
    package let pauseReason: String?
    package let environment: String
    package let `protocol`: String
    package let topic: String?
    /// Why the app cannot send at the moment.
    package let holdKind: String?
    package let holdReason: String?
    package let heldSince: Moment?
    package var ready: Amount { Amount(readyJobs, readyPrecision) }
    private let readyJobs: Int64
    private let readyPrecision: Amount.Precision
    package let inFlight: Int64
    /// Seconds.
    package let oldestAge: Int64?
    package let sentLastMinute: Int64
    package let failedLastMinute: Int64
    package let sentLastHour: Int64
    package let failedLastHour: Int64
    /// The most frequent reason among the latest failures.
    package let failureReason: String?
    package let credential: String?
    package let credentialStatus: CredentialStatus?
    package let credentialEnd: Moment?
    package let credentialError: String?
    package var scheduled: Amount { Amount(scheduledJobs, scheduledPrecision) }
    private let scheduledJobs: Int64
    private let scheduledPrecision: Amount.Precision
    /// In seconds; negative once it has expired.
    package let credentialExpiresIn: Int64?
    package let json: JSONValue

    private enum CodingKeys: String, CodingKey {
        case isPaused, environment, `protocol`, topic, holdKind, holdReason, heldSince, readyPrecision, inFlight,
            sentLastMinute, failedLastMinute
        case sentLastHour, failedLastHour, failureReason, credential, credentialStatus, credentialError,
            scheduledPrecision, json
        case name = "app"
        case readyJobs = "ready"
        case scheduledJobs = "scheduled"
        case pauseReason = "paused_reason"
        case oldestAge = "oldest_age_seconds"
        case credentialEnd = "credential_not_after"
        case credentialExpiresIn = "credential_expires_in_seconds"
    }

    package enum State: String {
        case active, paused, held

        package init(isPaused: Bool, isHeld: Bool) { self = isPaused ? .paused : isHeld ? .held : .active }
    }

    package var state: State { State(isPaused: isPaused, isHeld: holdReason != nil) }
}
