import ApplePush
import ApplePushSimulator
import TestSupport
import Testing

/// An app with tokens of both environments, against two simulators.
@Suite struct BothEnvironmentsTests {
    private static func token(_ start: String) -> String { start + String(repeating: "0", count: 62) }

    /// Runs the body with a queue and the simulators of production, which is the app's environment, and of the sandbox. Each
    /// answers as its rules say.
    private func withGateways(
        production: [String] = [],
        sandbox: [String] = [],
        _ body: (TestQueue, _ sent: (APNsSimulator) async throws -> [String], [APNsSimulator]) async throws -> Void
    ) async throws {
        try await TestQueue.with(simulator: { $0.answers = try production.map { try AnswerRule(parsing: $0) } }) {
            queue,
            own in
            try await APNsSimulator.with {
                $0.recordsRequests = true
                $0.environment = .sandbox
                $0.answers = try sandbox.map { try AnswerRule(parsing: $0) }
            } _: { other in
                try await queue.database.run(
                    """
                    UPDATE carillon.apps SET both_environments = true, other_gateway = 'localhost:\(other.port)',
                        gateway_ca = gateway_ca || '\(other.rootPEM)'
                    """
                )
                try await body(
                    queue,
                    { await $0.receivedRequests().map { "\($0.token.prefix(2)) \($0.status ?? 0)" }.sorted() },
                    [own, other]
                )
            }
        }
    }

    private func drain(_ queue: TestQueue) async throws {
        let backend = HTTP2Backend(.longTimeouts)
        try await queue.drain(backend)
        await backend.shutdown()
    }

    @Test func `each token is sent to the gateway of its environment, and to no other`() async throws {
        try await withGateways { queue, sent, gateways in
            for (token, environment) in [("a1", "NULL"), ("a2", "'production'"), ("b1", "'sandbox'")] {
                try await queue.database.run(
                    """
                    INSERT INTO carillon.tokens (app_id, token, environment) VALUES (1, '\(Self.token(token))', \(environment))
                    """
                )
            }
            try await queue.database.run("SELECT carillon.broadcast('app', 'Hi')")
            try await drain(queue)
            let received = [try await sent(gateways[0]), try await sent(gateways[1])]
            #expect(received == [["a1 200", "a2 200"], ["b1 200"]])
            let results = "SELECT sum(sent), sum(failed), count(DISTINCT broadcast_id) FROM carillon.results"
            #expect(try await queue.database.rows(results) == ["(3,0,1)"])
        }
    }

    @Test func `a wrong guess is tried once in the other environment, and remembered`() async throws {
        let bad = ["b=400:BadDeviceToken"]
        try await withGateways(production: bad, sandbox: ["a=400:BadDeviceToken"]) { queue, sent, gateways in
            let tokens = ["a1", "b1"].map { "'\(Self.token($0))'" }.joined(separator: ",")
            try await queue.database.run(
                """
                INSERT INTO carillon.tokens (app_id, token) SELECT 1, unnest(ARRAY[\(tokens)]);
                SELECT carillon.enqueue('app', ARRAY[\(tokens)], 'Hi')
                """
            )
            try await drain(queue)
            let received = [try await sent(gateways[0]), try await sent(gateways[1])]
            #expect(received == [["a1 200", "b1 400"], ["b1 200"]])
            #expect(
                try await queue.database.rows("SELECT left(token, 2), environment FROM carillon.tokens ORDER BY token")
                    == ["(a1,)", "(b1,sandbox)"]
            )
            #expect(try await queue.database.rows("SELECT sent, failed FROM carillon.results") == ["(2,0)"])
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.failures") == 0)
            try await queue.database.run("SELECT carillon.enqueue('app', ARRAY[\(tokens)], 'Hi')")
            try await drain(queue)
            #expect(try await sent(gateways[0]) == ["a1 200", "a1 200", "b1 400"])
            #expect(try await sent(gateways[1]) == ["b1 200", "b1 200"])
        }
    }

    @Test func `a token that is bad in both environments fails after one push in each`() async throws {
        let bad = ["c=400:BadDeviceToken"]
        try await withGateways(production: bad, sandbox: bad) { queue, sent, gateways in
            try await queue.database.run(
                "SELECT carillon.enqueue('app', ARRAY['\(Self.token("c1"))'], 'Hi')"
            )
            try await drain(queue)
            for gateway in gateways { #expect(try await sent(gateway) == ["c1 400"]) }
            #expect(try await queue.database.rows("SELECT reason FROM carillon.failures") == ["(BadDeviceToken)"])
            #expect(try await queue.database.rows("SELECT sent, failed FROM carillon.results") == ["(0,1)"])
        }
    }

    @Test func `an app with one environment tries no other`() async throws {
        try await withGateways(production: ["c=400:BadDeviceToken"]) { queue, sent, gateways in
            try await queue.database.run(
                """
                UPDATE carillon.apps SET both_environments = false;
                SELECT carillon.enqueue('app', ARRAY['\(Self.token("c1"))'], 'Hi')
                """
            )
            try await drain(queue)
            #expect(try await sent(gateways[0]) == ["c1 400"])
            #expect(try await sent(gateways[1]) == [])
            #expect(try await queue.database.rows("SELECT reason FROM carillon.failures") == ["(BadDeviceToken)"])
        }
    }
}
