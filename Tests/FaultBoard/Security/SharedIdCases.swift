import ApplePushSimulator
import Testing

/// Ids that users choose.
@Suite struct SharedIdCases {
    private static let count = 300

    /// Tokens with the prefix b1 are retried, under ids of the queue; those with b2 fail.
    private static func busy(_ configuration: inout SimulatorConfiguration) throws {
        configuration.answers = try ["b1=503:ServiceUnavailable*1", "b2=400:PayloadEmpty"].map {
            try AnswerRule(parsing: $0)
        }
    }

    @Test func `S11: messages of two apps with equal ids are independent, and none goes to the other's devices`()
        async throws
    {
        try await Scene.with({ try Self.busy(&$0) }) { scene async throws in
            let topic = "com.example.other"
            try await scene.addApp("other", topic: topic, to: scene.simulator)
            // Of each app a third is delivered, a third is retried, and a third fails.
            try await scene.client.run(
                """
                INSERT INTO carillon.messages (id, app_id, tokens, payload)
                SELECT 1000 + n, a.id, ARRAY[format('b%s%s', n % 3, lpad(to_hex(a.id * 65536 + n), 62, '0')),
                        format('c0%s', lpad(to_hex(a.id * 65536 + n), 62, '0'))],
                    format('{"aps":{"alert":"%s"}}', a.name)::json
                FROM generate_series(1, \(Self.count)) n, carillon.apps a ORDER BY n, a.id
                """
            )
            try await scene.fleet.started(2)
            try await scene.drained()
            for app in 1...2 {
                #expect(
                    try await scene.client.text(
                        """
                        SELECT (count(*), count(DISTINCT r.message_id), sum(r.sent), sum(r.failed)) FROM carillon.results r
                        WHERE r.app_id = \(app)
                        """
                    ) == "(\(Self.count),\(Self.count),\(Self.count * 5 / 3),\(Self.count / 3))"
                )
            }
            #expect(try await scene.client.number("SELECT carillon.requeue_failures(app => 'other')") == Self.count / 3)
            try await scene.drained()
            let names = ["com.example.board": "board", topic: "other"]
            var identities: [String: Set<String>] = [:]
            for delivery in scene.record.deliveries {
                // The token has the number of the app, the payload its name; the gateway sees the topic.
                let number = Int(delivery.token.suffix(6).prefix(2), radix: 16)
                let name = names[delivery.topic ?? ""] ?? ""
                #expect(number == (name == "board" ? 1 : 2))
                #expect(String(decoding: delivery.payload, as: UTF8.self).contains(name))
                identities[delivery.apnsID, default: []].insert(delivery.token)
            }
            #expect(identities.values.allSatisfy { $0.count == 1 })
            #expect(try await scene.fleet.stop() == [])
        }
    }
}
