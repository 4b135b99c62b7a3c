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
            carillon.queue_depth(s.app_id, $5) AS depth, carillon.scheduled_depth(s.app_id, $2) AS scheduled,
            s.in_flight::int8, extract(epoch FROM s.oldest_age)::int8 AS oldest_age_seconds,
            s.sent_last_minute::int8, s.failed_last_minute::int8, s.sent_last_hour::int8, s.failed_last_hour::int8,
            s.failure_reason, s.credential, s.credential_status, s.credential_not_after,
            extract(epoch FROM s.credential_not_after - now())::int8 AS credential_expires_in_seconds,
            s.credential_error, s.hold_kind, s.hold_reason, s.held_since
        FROM carillon.app_status s
        WHERE s.app_id IN (
            SELECT a.id FROM carillon.apps a WHERE ($1 IS NULL OR a.name = $1) AND ($4 IS NULL OR a.name > $4)
            ORDER BY a.name LIMIT $3)
        ORDER BY s.app
        """
    )

    /// So many jobs of one app are counted.
    private static let usualCount: Int64 = 1_000

    package static func all(
        named name: String? = nil,
        from database: some StatementRunner
    ) async throws -> [AppStatus] {
        try await read(name, from: database)
    }

    /// For pages: nothing is counted beyond a bound, which is lower where there are many apps.
    package static func bounded(
        _ name: String? = nil,
        after: String? = nil,
        most: Int64,
        from database: some StatementRunner
    ) async throws -> [AppStatus] {
        let count = min(usualCount, try await LookDepth.read(for: name, from: database))
        var found = try await read(name, after: after, most: most, scheduled: count + 1, ready: count, from: database)
        for place in found.indices { found[place].countLimit = count }
        return found
    }

    private static func read(
        _ name: String? = nil,
        after: String? = nil,
        most: Int64? = nil,
        scheduled: Int64? = nil,
        ready: Int64 = usualCount,
        from database: some StatementRunner
    ) async throws -> [AppStatus] {
        try await database.values(of: statement, Parameters(name, scheduled, most, after, ready))
    }

    package let name: String
    package let isPaused: Bool
    package let pauseReason: String?
    package let environment: String
    package let `protocol`: String
    package let topic: String?
    /// Why the app cannot send at the moment.
    package let holdReason: String?
    package let heldSince: Moment?
    /// Jobs that are ready; an estimate if there are many.
    package let depth: Int64
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
    package let scheduled: Int64
    /// Scheduled jobs were not counted beyond it.
    package private(set) var countLimit = Int64.max
    /// In seconds; negative once it has expired.
    package let credentialExpiresIn: Int64?
    package let json: JSONValue

    private enum CodingKeys: String, CodingKey {
        case isPaused, environment, `protocol`, topic, holdReason, heldSince, depth, inFlight, sentLastMinute,
            failedLastMinute
        case sentLastHour, failedLastHour, failureReason, credential, credentialStatus, credentialError, scheduled, json
        case name = "app"
        case pauseReason = "paused_reason"
        case oldestAge = "oldest_age_seconds"
        case credentialEnd = "credential_not_after"
        case credentialExpiresIn = "credential_expires_in_seconds"
    }

    package var hasMoreScheduled: Bool { scheduled > countLimit }

    package enum State: String {
        case active, paused, held
    }

    package var state: State { isPaused ? .paused : holdReason == nil ? .active : .held }
}
