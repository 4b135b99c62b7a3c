import CarillonIO
import TestSupport

/// The conditions that cases wait for.
extension Scene {
    func eventually(
        _ what: @autoclosure () -> String,
        within limit: Duration = .seconds(180),
        _ condition: () async throws -> Bool
    ) async throws {
        try await loop.eventually(what(), within: limit, condition)
    }

    // MARK: Pushes

    /// Waits until the simulator has received that many requests in all.
    func requests(_ count: Int, within limit: Duration = .seconds(180)) async throws {
        try await eventually("\(count) requests came, \(record.requests) so far", within: limit) {
            record.requests >= count
        }
    }

    /// Waits until that many more pushes have arrived than now.
    func goesOn(_ count: Int = 100, within limit: Duration = .seconds(180)) async throws {
        try await requests(record.requests + count, within: limit)
    }

    private static let remains = """
        (SELECT count(*) FROM (SELECT FROM carillon.messages LIMIT 1) m)
            + (SELECT count(*) FROM (SELECT FROM carillon.scheduled LIMIT 1) s)
            + (SELECT count(*) FROM (SELECT FROM carillon.inflight LIMIT 1) f)
            + (SELECT count(*) FROM (SELECT FROM carillon.unfinished LIMIT 1) u)
        """

    /// Waits until the queue is empty.
    func drained(within limit: Duration = .seconds(180)) async throws {
        try await eventually("I8: the queue was drained", within: limit) {
            (try? await client.number(Self.remains)) == 0
        }
    }

    // MARK: By the database's clock

    /// Waits for the worker's heartbeats for that long, and for at least one more.
    func livesOn(_ worker: WorkerProcess, for duration: Duration = .zero) async throws {
        let begin = try await lastHeartbeat(of: worker)
        try await eventually("\(worker.name) lived on for \(duration)", within: duration + .seconds(180)) {
            Duration.microseconds(try await lastHeartbeat(of: worker) - begin) > duration
        }
    }

    /// In microseconds.
    private func lastHeartbeat(of worker: WorkerProcess) async throws -> Int {
        try await client.number(
            """
            SELECT coalesce(max(extract(epoch FROM w.heartbeat_at) * 1000000), 0) FROM carillon.workers w
            WHERE w.pid = \(worker.processID)
            """
        )
    }

    /// Waits until the leases of all workers have been over for at least that long.
    func leasesRanOut(ago duration: Duration = .zero) async throws {
        try await eventually("all leases ran out \(duration) ago", within: duration + .seconds(180)) {
            try await client.number(
                "SELECT count(*) FROM carillon.workers w WHERE w.lease_until > \(Self.before(duration))"
            ) == 0
        }
    }

    /// Waits until a transaction of `SceneClient.session` has been open for that long.
    func transactionIsOpen(for duration: Duration) async throws {
        try await eventually("a transaction was open for \(duration)", within: duration + .seconds(180)) {
            try await client.number(
                """
                SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database()
                    AND a.application_name = '\(SceneClient.sessionName)' AND a.xact_start <= \(Self.before(duration))
                """
            ) > 0
        }
    }

    private static func before(_ duration: Duration) -> String {
        "clock_timestamp() - interval '\(duration.nanoseconds / 1_000_000) ms'"
    }

    /// Waits until a statement with that text waits for a lock.
    func waitsForLock(_ text: String, count: Int = 1) async throws {
        try await eventually("\(count) statements with '\(text)' wait for a lock") {
            try await statementsWaitingForLock(text) >= count
        }
    }

    func statementsWaitingForLock(_ text: String) async throws -> Int {
        try await client.number(
            """
            SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database()
                AND a.wait_event_type = 'Lock' AND a.query LIKE '%\(text)%' AND a.pid <> pg_backend_pid()
            """
        )
    }
}
