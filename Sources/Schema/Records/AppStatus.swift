package import CarillonPostgres
package import CarillonText

/// A row of `app_status`.
package struct AppStatus: RowReadable, JSONConvertible {
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

    package static func all(from database: some StatementRunner) async throws -> [AppStatus] {
        try await database.values(
            of: statement,
            Parameters(String?.none, Int64?.none, Int64?.none, String?.none, usualCount)
        )
    }

    package static func one(_ name: String, from database: some StatementRunner) async throws -> AppStatus? {
        let found: [AppStatus] = try await database.values(
            of: statement,
            Parameters(name as String?, Int64?.none, Int64?.none, String?.none, usualCount)
        )
        return found.first
    }

    /// For pages: nothing is counted beyond a bound, which is lower where there are many apps.
    package static func bounded(
        _ name: String? = nil,
        after: String? = nil,
        most: Int64,
        from database: some StatementRunner
    ) async throws -> [AppStatus] {
        let count = min(usualCount, try await LookDepth.read(for: name, from: database))
        let parameters = Parameters(name, count + 1 as Int64?, most as Int64?, after, count)
        var found: [AppStatus] = try await database.values(of: statement, parameters)
        for place in found.indices { found[place].countLimit = count }
        return found
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
    package let credentialStatus: String?
    package let credentialEnd: Moment?
    package let credentialError: String?
    package let scheduled: Int64
    /// Scheduled jobs were not counted beyond it.
    package private(set) var countLimit = Int64.max
    /// In seconds; negative once it has expired.
    package let credentialExpiresIn: Int64?
    package let json: JSONValue

    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
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
        environment = try rows.string(row, "environment")
        `protocol` = try rows.string(row, "protocol")
        topic = try rows.stringIfPresent(row, "topic")
        credentialEnd = try rows.timestampIfPresent(row, "credential_not_after").map(Moment.init)
        heldSince = try rows.timestampIfPresent(row, "held_since").map(Moment.init)
        json = try JSONValue(rows, row)
    }

    package var hasMoreScheduled: Bool { scheduled > countLimit }

    package enum State: String {
        case active, paused, held
    }

    package var state: State { isPaused ? .paused : holdReason == nil ? .active : .held }
}
