import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// What is told of pushes that ended without being sent.
@Suite(.queue) struct UnsentPushTests {
    private static let busy = RecordedBackend { _ in .rejected(503, "ServiceUnavailable") }

    private static func status(_ columns: String) -> String {
        "SELECT state, last_status, last_reason\(columns) FROM carillon.message_status(1)"
    }

    private static func enqueue(_ queue: TestQueue, _ arguments: String = "") async throws {
        try await queue.database.run("SELECT carillon.enqueue('app', '{aa}', 'x'\(arguments))")
    }

    private static func becomeDue(_ queue: TestQueue, more: String = "") async throws {
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()\(more)")
    }

    // MARK: The last attempt

    @Test func `a push that expires instead of another attempt says how the last one failed`() async throws {
        try await Self.enqueue(queue, ", expires_at => now() + interval '30 minutes'")
        try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable", retryAfter: 3600) })
        #expect(try await queue.database.rows(Self.status("")) == ["(expired,503,ServiceUnavailable)"])
    }

    @Test func `a push that expires while it waits for another attempt says how the last one failed`() async throws {
        try await Self.enqueue(queue, ", expires_at => now() + interval '9 days'")
        try await queue.drain(Self.busy)
        try await Self.becomeDue(queue, more: ", expires_at = now()")
        try await queue.drain(Self.busy)
        #expect(try await queue.database.rows(Self.status("")) == ["(expired,503,ServiceUnavailable)"])
    }

    @Test func `of a split message, the jobs that expired say how their last attempt failed`() async throws {
        try await queue.database.run(
            "SELECT carillon.enqueue('app', '{aa,bb,cc}', 'x', expires_at => now() + interval '9 days')"
        )
        try await queue.drain(RecordedBackend { $0 == "aa" ? .accepted : .rejected(503, "ServiceUnavailable") })
        try await Self.becomeDue(queue, more: ", expires_at = now() + interval '30 minutes'")
        try await queue.drain(
            RecordedBackend { $0 == "bb" ? .accepted : .rejected(429, "TooManyRequests", retryAfter: 3600) }
        )
        #expect(
            try await queue.database.rows(Self.status(", sent, expired"))
                == [#"("partly sent",429,TooManyRequests,2,1)"#]
        )
    }

    @Test func `a push that is cancelled between two attempts says how the first one failed`() async throws {
        try await Self.enqueue(queue)
        try await queue.drain(Self.busy)
        try await queue.database.run("SELECT carillon.cancel(1)")
        #expect(try await queue.database.rows(Self.status("")) == ["(cancelled,503,ServiceUnavailable)"])
    }

    // MARK: Attempts

    @Test(arguments: [
        ("'{aa}', '{\"aps\":{}}', now() - interval '1 s'", "(expired,,,0)"),
        ("'{zz}', '{\"aps\":{}}', NULL", "(failed,,MalformedToken,0)"),
        ("'{}', '{\"aps\":{}}', NULL", "(empty,,,0)"),
        ("'{aa}', '{\"aps\":{}}', NULL", "(sent,200,,1)"),
        ("'{aa,zz}', '{\"aps\":{}}', NULL", #"("partly sent",,MalformedToken,1)"#),
        // It is cut before it is refused.
        ("ARRAY[repeat('z', 9000000), 'zz'], '{\"aps\":{}}', NULL", "(failed,,MalformedToken,0)"),
        // Too many to be in flight at once: it is split before it is read.
        (
            "array_fill('aa'::text, '{6}'), json_build_object('a', repeat('x', 5000)), NULL",
            "(failed,,PayloadTooLarge,0)"
        ),
    ])
    func `a push that was never sent has no attempt`(_ values: String, _ status: String) async throws {
        try await queue.database.run(
            "INSERT INTO carillon.messages (app_id, tokens, payload, expires_at) VALUES (1, \(values))"
        )
        try await queue.drain(RecordedBackend()) { $0.maxInFlight = 5 }
        #expect(try await queue.database.rows(Self.status(", attempts")) == [status])
    }
}
