import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Rows with a payload for each token, from the queue to the gateway.
@Suite(.queue) struct PersonalPushTests {
    /// Payloads that name their tokens, with blanks that must stay.
    private static func insert(_ tokens: [String]) -> String {
        let payloads = tokens.map { "'{ \"aps\" : {},\n\"t\":\"\($0)\" }'" }
        return """
            INSERT INTO carillon.messages (app_id, tokens, payloads)
            VALUES (1, '{\(tokens.joined(separator: ","))}', ARRAY[\(payloads.joined(separator: ","))]::json[])
            """
    }

    private static func expected(_ tokens: String...) -> [String] {
        tokens.map { "\($0) { \"aps\" : {},\n\"t\":\"\($0)\" }" }
    }

    private func sent(_ backend: RecordedBackend) -> [String] { backend.sent.map { "\($0.token) \($0.payload)" } }

    private func makeDue(_ queue: TestQueue) async throws {
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
    }

    @Test func `each device token gets its own payload, byte for byte`() async throws {
        try await queue.database.run(Self.insert(["aa", "bb", "cc"]))
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(sent(backend) == Self.expected("aa", "bb", "cc"))
        #expect(try await queue.database.rows("SELECT sent, failed FROM carillon.results") == ["(3,0)"])
    }

    @Test func `a token keeps its payload in retries, after a failure, and when it is requeued`() async throws {
        try await queue.database.run(Self.insert(["a1", "b2", "c3", "d4", "e5"]))
        try await queue.drain(
            RecordedBackend { token in
                switch token {
                case "a1": .accepted
                case "b2": .rejected(400, "BadTopic")
                case "c3": .unknown
                case "d4": .rejected(410, "Unregistered")
                default: .rejected(503, "ServiceUnavailable")
                }
            }
        )
        try await makeDue(queue)
        let second = RecordedBackend { $0 == "e5" ? .rejected(400, "BadTopic") : .accepted }
        try await queue.drain(second)
        #expect(sent(second).sorted() == Self.expected("c3", "e5"))
        #expect(
            try await queue.database.rows("SELECT tokens FROM carillon.failed_messages ORDER BY failed_at") == [
                "({b2})", "({e5})",
            ]
        )
        #expect(try await queue.database.number("carillon.requeue_failures('app')") == 2)
        let third = RecordedBackend()
        try await queue.drain(third)
        #expect(sent(third).sorted() == Self.expected("b2", "e5"))
    }

    @Test func `a row with more tokens than may be in flight is split with its payloads`() async throws {
        let tokens = (100..<150).map { "\($0)0" }
        try await queue.database.run(Self.insert(tokens))
        let backend = RecordedBackend()
        try await queue.drain(backend) { $0.maxInFlight = 20 }
        #expect(sent(backend).sorted() == tokens.flatMap { Self.expected($0) })
        #expect(try await queue.database.rows("SELECT sent, failed FROM carillon.results") == ["(50,0)"])
    }

    @Test(arguments: [
        ("'{aa,bb}'", "NULL", "'{\"{}\"}'", ["(aa,MismatchedPayloads)", "(bb,MismatchedPayloads)"]),
        ("'{aa}'", "'{}'", "'{\"{}\"}'", ["(aa,MismatchedPayloads)"]),
        ("'{aa,bb,cc}'", "NULL", "'{\"{}\",NULL,\"[]\"}'", ["(bb,PayloadEmpty)", "(cc,MalformedPayload)"]),
        ("'{aa}'", "NULL", "ARRAY[to_json(repeat('x', 30000000))]", ["(aa,PayloadTooLarge)"]),
        ("'{}'", "NULL", "'{\"{}\"}'", []),
    ])
    func `a push without a payload of its own fails alone`(
        tokens: String,
        payload: String,
        payloads: String,
        failures: [String]
    ) async throws {
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, payloads) VALUES (1, \(tokens), \(payload), \(payloads));
            \(Self.insert(["dd"]))
            """
        )
        try await queue.drain()
        #expect(try await queue.database.rows("SELECT token, reason FROM carillon.failures ORDER BY token") == failures)
        #expect(try await queue.database.value("SELECT count(*) FROM carillon.pending") == "0")
        #expect(try await queue.database.value("carillon.requeue_failures('app')") == "0")
    }
}
