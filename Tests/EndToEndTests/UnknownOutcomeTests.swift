import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Pushes that ended without being sent, and may have been delivered all the same.
@Suite(.queue) struct UnknownOutcomeTests {
    private static let busy = RecordedBackend { _ in .rejected(503, "ServiceUnavailable") }

    private static func enqueue(_ queue: TestQueue, _ arguments: String = "") async throws {
        try await queue.database.run("SELECT carillon.enqueue('app', '{aa}', 'x'\(arguments))")
    }

    private static func becomeDue(_ queue: TestQueue, more: String = "") async throws {
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()\(more)")
    }

    /// A claim of a worker without a row of `workers`.
    private static let claim = """
        WITH gone AS (DELETE FROM carillon.messages RETURNING *)
        INSERT INTO carillon.inflight (worker_id, app_id, jobs)
        SELECT 99, 1, array_agg(json_populate_record(NULL::carillon.job, to_json(g))) FROM gone g
        """

    /// Whether the key is free, and what is said of the message.
    private static func end(_ queue: TestQueue) async throws -> [String] {
        try await queue.database.rows(
            """
            SELECT m.state, m.may_have_arrived, carillon.enqueue('app', '{aa}', 'x', dedupe_key => 'k') IS NOT NULL AS is_free
            FROM carillon.message_status(1) m
            """
        )
    }

    @Test func `a push that expired after an attempt without an answer may have arrived, and keeps its dedupe key`()
        async throws
    {
        try await Self.enqueue(queue, ", dedupe_key => 'k', expires_at => now() + interval '1 minute'")
        try await queue.drain(RecordedBackend { _ in .unknown })
        #expect(try await Self.end(queue) == ["(expired,t,f)"])
    }

    @Test func `an answer to a later attempt does not undo that an earlier one may have arrived`() async throws {
        try await Self.enqueue(queue, ", dedupe_key => 'k', expires_at => now() + interval '9 days'")
        try await queue.drain(RecordedBackend { _ in .unknown })
        try await Self.becomeDue(queue)
        try await queue.drain(Self.busy)
        try await Self.becomeDue(queue, more: ", expires_at = now()")
        try await queue.drain(Self.busy)
        #expect(try await Self.end(queue) == ["(expired,t,f)"])
    }

    @Test func `a push is sent again three times for unknown outcomes, and the fourth ends it`() async throws {
        try await Self.enqueue(queue)
        let silent = RecordedBackend { _ in .unknown }
        for _ in 1...3 {
            try await queue.drain(silent)
            try await Self.becomeDue(queue)
            // An answer is no unknown outcome, so it does not count.
            try await queue.drain(Self.busy)
            try await Self.becomeDue(queue)
        }
        let retry = "SELECT s.attempt, s.unknown_attempts FROM carillon.scheduled s"
        #expect(try await queue.database.rows(retry) == ["(7,3)"])
        try await queue.drain(silent)
        #expect(silent.sent.count == 4)
        let failures = "SELECT f.reason, f.status, f.attempt FROM carillon.failures f"
        #expect(try await queue.database.rows(failures) == ["(OutcomeUnknown,,7)"])
        #expect(try await Self.end(queue) == ["(failed,t,t)"])
    }

    @Test func `a push that was cancelled after an attempt without an answer keeps its dedupe key`() async throws {
        try await Self.enqueue(queue, ", dedupe_key => 'k'")
        try await queue.drain(RecordedBackend { _ in .unknown })
        try await queue.database.run("SELECT carillon.cancel(1)")
        #expect(try await Self.end(queue) == ["(cancelled,t,f)"])
    }

    @Test func `a push that its worker died with may have arrived`() async throws {
        try await Self.enqueue(queue, ", dedupe_key => 'k'")
        try await queue.database.run(
            """
            \(Self.claim);
            SELECT carillon.take_over(99);
            SELECT carillon.cancel(1)
            """
        )
        #expect(try await Self.end(queue) == ["(cancelled,t,f)"])
    }

    @Test func `an expired push that was always rejected has not arrived, and frees its dedupe key`() async throws {
        try await Self.enqueue(queue, ", dedupe_key => 'k', expires_at => now() + interval '30 minutes'")
        try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable", retryAfter: 3600) })
        #expect(try await Self.end(queue) == ["(expired,f,t)"])
    }

    @Test(arguments: [("retry", "(sent,f,f)"), ("fail", "(failed,t,f)")])
    func `a delivered push has not 'may have arrived', and one that failed without an answer has`(
        onUnknown: String,
        expected: String
    ) async throws {
        try await Self.enqueue(queue, ", dedupe_key => 'k', on_unknown => '\(onUnknown)'")
        try await queue.drain(RecordedBackend { _ in .unknown })
        try await Self.becomeDue(queue)
        try await queue.drain()
        #expect(try await Self.end(queue) == [expected])
    }

    @Test(arguments: [true, false])
    func `a push that may have arrived is repeated with its identity as collapse id, if the app wants that`(isOn: Bool)
        async throws
    {
        try await queue.database.run(
            """
            UPDATE carillon.apps SET collapse_unknown = \(isOn);
            SELECT carillon.enqueue('app', '{aa,bb}', 'x'), carillon.enqueue('app', '{cc}', 'x', collapse_id => 'own'),
                carillon.enqueue('app', '{dd}', 'x')
            """
        )
        let first = RecordedBackend { $0 == "dd" ? .rejected(503, "ServiceUnavailable") : .unknown }
        try await queue.drain(first)
        #expect(first.sent.map(\.collapseID) == [nil, nil, "own", nil])
        try await Self.becomeDue(queue)
        let second = RecordedBackend()
        try await queue.drain(second)
        let ids = Dictionary(uniqueKeysWithValues: second.sent.map { ($0.token, $0) })
        for token in ["aa", "bb"] {
            #expect(ids[token]?.collapseID == (isOn ? ids[token]?.id.description : nil))
        }
        #expect(ids["cc"]?.collapseID == "own" && ids.keys.contains("dd") && ids["dd"]?.collapseID == nil)
        #expect(first.sent.map(\.id) == second.sent.sorted { $0.token < $1.token }.map(\.id))
    }

    @Test
    func `a push whose worker died, and that was then given back unsent, still gets its collapse id`() async throws {
        try await queue.database.run("UPDATE carillon.apps SET collapse_unknown = true")
        try await Self.enqueue(queue)
        try await queue.database.run(
            """
            \(Self.claim);
            SELECT carillon.take_over(99)
            """
        )
        try await queue.drain(RecordedBackend { _ in .rejected(429, "TooManyProviderTokenUpdates") })
        try await queue.database.run("DELETE FROM carillon.holds")
        try await Self.becomeDue(queue)
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(backend.sent.map(\.collapseID) == backend.sent.map { $0.id.description })
        #expect(backend.sent.count == 1)
    }

    @Test func `records of pushes that may have arrived are deleted with the results of their message`() async throws {
        try await Self.enqueue(queue, ", expires_at => now() + interval '1 minute'")
        try await Self.enqueue(queue)
        try await queue.drain(RecordedBackend { _ in .unknown })
        let count = "SELECT count(*) FROM carillon.unknown_outcomes"
        try await queue.database.run("UPDATE carillon.unknown_outcomes SET noted_at = now() - interval '8 days'")
        try await queue.database.run("CALL carillon.maintain()")
        #expect(try await queue.database.number(count) == 2)
        try await queue.database.run("DELETE FROM carillon.results; DELETE FROM carillon.scheduled")
        try await queue.database.run("CALL carillon.maintain()")
        #expect(try await queue.database.number(count) == 0)
    }
}
