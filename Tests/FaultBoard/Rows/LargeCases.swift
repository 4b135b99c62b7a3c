import ApplePushSimulator
import CarillonPostgres
import TestSupport
import Testing

/// Messages to very many device tokens, malformed ones, and the messages behind them.
@Suite struct LargeCases {
    @Test(.scene)
    func `P11: a payload that is too large for its many tokens is refused before the message is split`() async throws {
        let count = Board.sized(5000, full: 170_000)
        let bytes = Board.sized(1 << 20, full: 5 << 20)
        try await scene.fleet.started()
        try await scene.enqueue(10)
        let huge = try await scene.insert(
            OddRow(
                [
                    ("payload", #"('{"aps":{"alert":"' || repeat('x', \#(bytes)) || '"}}')::json"#),
                    ("tokens", "ARRAY(SELECT 'd' || lpad(to_hex(t), 63, '0') FROM generate_series(1, \(count)) t)"),
                ],
                .refused("PayloadTooLarge"),
                tokens: (1...count).map { Scene.token("d", $0) }
            )
        )
        let whole = try await size(of: scene)
        try await scene.enqueue(10)
        let audit = try await scene.finish(localReasons: ["PayloadTooLarge"])
        #expect(audit.outcomes.failures[huge.reference]?.count == count)
        #expect(audit.outcomes.results[huge.reference]?.map(\.sent) == [0])
        // In jobs of a thousand device tokens it would be written once for each job.
        #expect(try await size(of: scene) < 2 * whole)
    }

    /// Of the queue, in bytes.
    private func size(of scene: Scene) async throws -> Int {
        try await scene.client.number("SELECT pg_total_relation_size('carillon.messages')")
    }

    @Test
    func `P12: a push is sent at once beside a message of the same app that was split into many jobs`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(50) }) { scene async throws in
            let count = Board.sized(10_000, full: 100_000)
            try await scene.fleet.started(["--max-in-flight", "1000"])
            // The message lasts for ten seconds, so that the push finds most of it waiting on any machine.
            try await scene.client.run("UPDATE carillon.apps SET max_rate = \(count / 10)")
            let list = try await scene.client.number(
                """
                carillon.enqueue('board', ARRAY(SELECT 'd' || lpad(to_hex(t), 63, '0') FROM generate_series(1, \(count)) t), 'Sale')
                """
            )
            try await scene.requests(1000)
            let code = try await scene.client.number(
                "carillon.enqueue('board', '{\(Scene.token("cc", 1))}', 'Your code is 4711')"
            )
            try await scene.eventually("the code was sent") { scene.record.requests(to: "cc") > 0 }
            let before = try #require(scene.record.deliveries.firstIndex { $0.token.hasPrefix("cc") })
            #expect(before < count / 2, "\(before) of \(count) went out before it")
            try await scene.drained()
            #expect(
                try await scene.client.number("SELECT p.sent FROM carillon.broadcast_progress(\(list)) AS p") == count
            )
            #expect(try await scene.client.number("SELECT p.sent FROM carillon.broadcast_progress(\(code)) AS p") == 1)
        }
    }
}
