import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Pushes that ended without being sent, and may have been delivered all the same.
@Suite struct UnknownOutcomeTests {
    private static let busy = RecordedBackend { _ in .rejected(503, "ServiceUnavailable") }

    private static func enqueue(_ queue: Queue, _ arguments: String = "") async throws {
        try await queue.database.run("SELECT carillon.enqueue('app', '{aa}', 'x'\(arguments))")
    }

    private static func becomeDue(_ queue: Queue, more: String = "") async throws {
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()\(more)")
    }

    /// Whether the key is free, and what is said of the message.
    private static func end(_ queue: Queue) async throws -> [String] {
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
        try await Queue.with { queue in
            try await Self.enqueue(queue, ", dedupe_key => 'k', expires_at => now() + interval '1 minute'")
            try await queue.drain(RecordedBackend { _ in .unknown })
            #expect(try await Self.end(queue) == ["(expired,t,f)"])
        }
    }

    @Test func `an answer to a later attempt does not undo that an earlier one may have arrived`() async throws {
        try await Queue.with { queue in
            try await Self.enqueue(queue, ", dedupe_key => 'k', expires_at => now() + interval '9 days'")
            try await queue.drain(RecordedBackend { _ in .unknown })
            try await Self.becomeDue(queue)
            try await queue.drain(Self.busy)
            try await Self.becomeDue(queue, more: ", expires_at = now()")
            try await queue.drain(Self.busy)
            #expect(try await Self.end(queue) == ["(expired,t,f)"])
        }
    }

    @Test func `a push that was cancelled after an attempt without an answer keeps its dedupe key`() async throws {
        try await Queue.with { queue in
            try await Self.enqueue(queue, ", dedupe_key => 'k'")
            try await queue.drain(RecordedBackend { _ in .unknown })
            try await queue.database.run("SELECT carillon.cancel(1)")
            #expect(try await Self.end(queue) == ["(cancelled,t,f)"])
        }
    }

    @Test func `a push that its worker died with may have arrived`() async throws {
        try await Queue.with { queue in
            try await Self.enqueue(queue, ", dedupe_key => 'k'")
            try await queue.database.run(
                """
                WITH gone AS (DELETE FROM carillon.messages RETURNING *)
                INSERT INTO carillon.inflight (worker_id, app_id, jobs)
                SELECT 99, 1, array_agg(ROW(g.id, g.lane, g.tokens, g.payload, g.payloads, g.push_type, g.priority, g.expires_at,
                    g.collapse_id, g.topic, g.reference, g.on_unknown, g.attempt, g.claims, g.origin, g.broadcast_id,
                    g.created_at, g.last_status, g.last_reason)::carillon.job) FROM gone g;
                SELECT carillon.take_over(99);
                SELECT carillon.cancel(1)
                """
            )
            #expect(try await Self.end(queue) == ["(cancelled,t,f)"])
        }
    }

    @Test func `what was surely refused before it expired has not arrived, and frees its dedupe key`() async throws {
        try await Queue.with { queue in
            try await Self.enqueue(queue, ", dedupe_key => 'k', expires_at => now() + interval '1 minute'")
            try await queue.drain(Self.busy)
            #expect(try await Self.end(queue) == ["(expired,f,t)"])
        }
    }

    @Test(arguments: [("retry", "(sent,f,f)"), ("fail", "(failed,t,f)")])
    func `what was delivered in the end has arrived, and what failed for want of an answer may have`(
        onUnknown: String,
        expected: String
    ) async throws {
        try await Queue.with { queue in
            try await Self.enqueue(queue, ", dedupe_key => 'k', on_unknown => '\(onUnknown)'")
            try await queue.drain(RecordedBackend { _ in .unknown })
            try await Self.becomeDue(queue)
            try await queue.drain()
            #expect(try await Self.end(queue) == [expected])
        }
    }

    @Test func `what is known of pushes that may have arrived goes with the results of their message`() async throws {
        try await Queue.with { queue in
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
}
