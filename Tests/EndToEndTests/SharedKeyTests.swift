import ApplePush
import ApplePushSimulator
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Apps that share a signing key, which sends to all topics of its team.
@Suite struct SharedKeyTests {
    private typealias Row = (topic: String?, pushType: String, token: String)

    /// Two apps, "app" and "bank", and a role that may write rows for "app" only.
    private static func with(_ body: (TestQueue, APNsSimulator, _ tenant: String) async throws -> Void) async throws {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            $0.answers = [try AnswerRule(parsing: "c=503:ServiceUnavailable*1")]
        } _: { simulator in
            try await TestQueue.with { queue in
                let tenant = "tenant_\(queue.database.connection.backendProcessID)"
                try await queue.database.run(
                    """
                    UPDATE carillon.certificates SET certificate = NULL, key_id = 'ABC123DEFG', team_id = 'DEF123GHIJ',
                        private_key = '\(try APNsSimulator.makeSigningKey())';
                    INSERT INTO carillon.apps (name, topic, certificate_id) VALUES ('bank', 'com.bank', 1);
                    UPDATE carillon.apps SET gateway = 'localhost:\(simulator.port)', gateway_ca = '\(simulator.rootPEM)';
                    CREATE ROLE \(tenant);
                    SELECT carillon.isolate_app('app', '\(tenant)')
                    """
                )
                try await attempt {
                    try await body(queue, simulator, tenant)
                } finally: {
                    try await queue.database.run("RESET ROLE; DROP OWNED BY \(tenant); DROP ROLE \(tenant)")
                }
            }
        }
    }

    /// Rows of a plain INSERT, which nothing checks before they are claimed.
    private static func insert(_ rows: [Row], _ queue: TestQueue) async throws {
        for row in rows {
            try await queue.database.run(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload, topic, push_type)
                VALUES (1, ARRAY[rpad('\(row.token)', 64, '0')], '{"aps":{"alert":"x"}}', \(row.topic.map { "'\($0)'" } ?? "NULL"), '\(row.pushType)')
                """
            )
        }
    }

    private static let foreign: [Row] = [
        ("com.bank", "alert", "b1"), ("com.bank.voip", "voip", "b2"),
        ("com.bank.push-type.liveactivity", "liveactivity", "b3"), ("com.bank.push-type.widgets", "widgets", "b4"),
        ("com.bank.location-query", "location", "b5"), ("com.bank", "mdm", "b6"),
        // The topic becomes the path of a request to a channel.
        ("com.bank", "channel", "41"), ("org.example.app.two", "alert", "b7"),
        ("org.example.app.two.voip", "voip", "b8"), ("org.example", "alert", "b9"),
    ]

    @Test func `a row of a plain INSERT cannot name the topic of an app that shares its signing key`() async throws {
        try await Self.with { queue, simulator, tenant in
            try await queue.database.run("SET ROLE \(tenant)")
            let own: [Row] = [
                (nil, "alert", "a1"), ("org.example.app", "alert", "a2"),
                ("org.example.app.voip", "voip", "a3"), (nil, "liveactivity", "a4"), ("org.example.app", "alert", "c1"),
            ]
            try await Self.insert(own + Self.foreign, queue)
            let refused = await queue.database.refusal(
                of: "SELECT carillon.enqueue('app', '{b0}', 'x', topic => 'com.bank')"
            )
            #expect(refused?.sqlState == "22023", "\(refused?.message ?? "")")
            try await queue.database.run("RESET ROLE")
            let backend = HTTP2Backend(.longTimeouts)
            try await queue.drain(backend)
            try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
            try await queue.drain(backend)
            let arrived = await simulator.receivedRequests()
            #expect(Set(arrived.map { $0.token.prefix(2) }) == ["a1", "a2", "a3", "a4", "c1"])
            #expect(arrived.allSatisfy { $0.topic?.hasPrefix("org.example.app") == true })
            let failures = try await queue.database.rows(
                "SELECT left(token, 2), status, reason FROM carillon.failures ORDER BY message_id"
            )
            #expect(failures == Self.foreign.map { "(\($0.token),,TopicNotAllowed)" }, "\(failures)")
            // What the owner lists is sent, and what had failed can be sent then.
            try await queue.database.run("UPDATE carillon.apps SET topics = '{com.bank}' WHERE name = 'app'")
            #expect(try await queue.database.number("carillon.requeue_failures('app', 'TopicNotAllowed')") == 10)
            try await queue.drain(backend)
            await backend.shutdown()
            let later = Set(await simulator.receivedRequests().map { $0.token.prefix(2) })
            #expect(
                later.isSuperset(of: ["b1", "b2", "b3", "b4", "b5", "b6"])
                    && later.isDisjoint(with: ["b7", "b8", "b9"])
            )
            #expect(
                try await queue.database.number(
                    "SELECT count(*) FROM carillon.failures WHERE reason = 'TopicNotAllowed' AND requeued_at IS NULL"
                ) == 3
            )
        }
    }

    @Test func `a retry is refused once its topic is no longer listed`() async throws {
        try await Self.with { queue, simulator, _ in
            try await queue.database.run(
                """
                UPDATE carillon.apps SET topics = '{com.bank}' WHERE name = 'app';
                SELECT carillon.enqueue('app', ARRAY[rpad('b1', 64, '0')], 'x', topic => 'com.bank');
                SELECT carillon.enqueue('app', ARRAY[rpad('c1', 64, '0')], 'x', topic => 'com.bank')
                """
            )
            let backend = HTTP2Backend(.longTimeouts)
            try await queue.drain(backend)
            // The retry is refused: the list has changed since.
            try await queue.database.run(
                "UPDATE carillon.apps SET topics = NULL; UPDATE carillon.scheduled SET run_at = now()"
            )
            try await queue.drain(backend)
            await backend.shutdown()
            let arrived = await simulator.receivedRequests()
            #expect(arrived.compactMap(\.status).sorted() == [200, 503], "\(arrived)")
            let failures = try await queue.database.rows("SELECT left(token, 2), reason FROM carillon.failures")
            #expect(failures == ["(c1,TopicNotAllowed)"], "\(failures)")
        }
    }
}
