import ApplePush
import ApplePushSimulator
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// A push type that Apple has added since this version goes from SQL to the gateway with its topic. `spatial` is made up: if Apple
/// ever has it, give these tests another name.
@Suite struct UnknownTypeTests {
    private static let topic = "org.example.app.push-type.spatial"

    private static func with(
        allowed: Bool = true,
        _ body: (TestQueue, APNsSimulator) async throws -> Void
    ) async throws {
        try await TestQueue.with(
            simulator: {
                $0.allowsUnknownTypes = allowed
                $0.answers = try ["e=400:SpatialRetired", "f=503:SpatialAsleep*1"].map { try AnswerRule(parsing: $0) }
            },
            body
        )
    }

    private static func enqueue(_ token: String, _ queue: TestQueue, more: String = "") async throws {
        try await queue.database.run(
            """
            SELECT carillon.enqueue('app', ARRAY[rpad('\(token)', 64, '0')], push_type => 'spatial', topic => '\(topic)',
                aps => '{"event": "move"}', reference => '\(token)'\(more))
            """
        )
    }

    private static func drain(_ queue: TestQueue) async throws {
        let backend = HTTP2Backend(.longTimeouts)
        try await queue.drain(backend)
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
        try await queue.drain(backend)
        await backend.shutdown()
    }

    @Test func `the made-up type spatial goes from SQL to the simulator, and its answers are told as they are`()
        async throws
    {
        try await Self.with { queue, simulator in
            try await Self.enqueue("a1", queue, more: ", priority => 1, collapse_id => 'room'")
            for token in ["e1", "f1"] { try await Self.enqueue(token, queue) }
            try await Self.drain(queue)
            let arrived = await simulator.receivedRequests()
            #expect(arrived.allSatisfy { $0.pushType == "spatial" && $0.topic == Self.topic })
            #expect(arrived.allSatisfy { $0.payload == Array(#"{"aps":{"event":"move"}}"#.utf8) })
            let first = try #require(arrived.first { $0.token.hasPrefix("a1") })
            #expect((first.status, first.priority, first.collapseID) == (200, "1", "room"))
            #expect(arrived.filter { $0.token.hasPrefix("f1") }.map(\.status) == [503, 200])
            // A reason that is not known is shown as it is, and its status decides what follows.
            let results = try await queue.database.rows(
                "SELECT reference, sent, failed, attempts FROM carillon.results ORDER BY 1"
            )
            #expect(results == ["(a1,1,0,1)", "(e1,0,1,1)", "(f1,1,0,2)"])
            #expect(
                try await queue.database.rows("SELECT reference, status, reason FROM carillon.failures")
                    == ["(e1,400,SpatialRetired)"]
            )
        }
    }

    @Test func `without the option, the simulator refuses it as Apple does`() async throws {
        try await Self.with(allowed: false) { queue, _ in
            try await Self.enqueue("a1", queue)
            try await Self.drain(queue)
            #expect(
                try await queue.database.rows("SELECT reference, status, reason FROM carillon.failures")
                    == ["(a1,400,InvalidPushType)"]
            )
        }
    }

    @Test func `a row of a plain INSERT is sent if it names a topic of the app, and a type that can be`() async throws {
        try await Self.with { queue, simulator in
            let rows: [(token: String, type: String, topic: String?, reason: String?)] = [
                ("a1", "spatial", Self.topic, nil), ("a2", "spatial", "org.example.app", nil),
                ("b1", "spatial", nil, "UnknownPushType"), ("b2", "spatial", "", "UnknownPushType"),
                ("b3", "Spatial", Self.topic, "UnknownPushType"),
                ("b4", "spatial\r\nx: y", Self.topic, "UnknownPushType"),
                ("b5", "spatial", "com.bank.push-type.spatial", "TopicNotAllowed"),
                ("b6", "voip", "org.example.app.push-type.voip", "TopicNotAllowed"),
                ("b7", "spatial", "org.example.app.spatial", "TopicNotAllowed"),
            ]
            for row in rows {
                try await queue.database.run(
                    """
                    INSERT INTO carillon.messages (app_id, tokens, payload, topic, push_type) VALUES (1,
                        ARRAY[rpad('\(row.token)', 64, '0')], '{"aps":{}}', \(row.topic.map { "'\($0)'" } ?? "NULL"), '\(row.type)')
                    """
                )
            }
            try await Self.drain(queue)
            let arrived = await simulator.receivedRequests()
            #expect(Set(arrived.map { $0.token.prefix(2) }) == ["a1", "a2"])
            let failures = try await queue.database.rows(
                "SELECT left(token, 2), reason FROM carillon.failures ORDER BY message_id"
            )
            #expect(failures == rows.compactMap { row in row.reason.map { "(\(row.token),\($0))" } })
        }
    }

    @Test func `one app with many made-up types takes nothing from another`() async throws {
        try await Self.with { queue, simulator in
            try await queue.database.run(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload, topic, push_type)
                SELECT 1, ARRAY[rpad('a' || lpad(n::text, 4, '0'), 64, '0')], '{"aps":{}}', 'org.example.app.push-type.t' || n, 't' || n
                FROM generate_series(1, 600) n;
                INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca)
                SELECT 'other', 'org.example.other', certificate_id, gateway, gateway_ca FROM carillon.apps WHERE name = 'app';
                SELECT carillon.enqueue('other', ARRAY[rpad('b1', 64, '0')], 'x', push_type => 'spatial',
                    topic => 'org.example.other.push-type.spatial')
                """
            )
            try await Self.drain(queue)
            let arrived = await simulator.receivedRequests()
            #expect(Set(arrived.compactMap(\.pushType)).count == 601 && arrived.allSatisfy { $0.status == 200 })
        }
    }
}
