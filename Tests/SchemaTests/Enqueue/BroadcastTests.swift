import CarillonPostgres
import CarillonPushRules
import TestSupport
import Testing

@Suite(.demo) struct BroadcastTests {
    private static func register(_ count: Int, in database: TestDatabase) async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token) SELECT 1, lpad(to_hex(i), 8, '0') FROM generate_series(1, \(count)) i
            """
        )
    }

    @Test func `a broadcast goes to every token of the app, in order, split into jobs of the bulk lane`() async throws {
        try await Self.register(2345, in: database)
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            INSERT INTO carillon.tokens (app_id, token) VALUES (2, 'ee')
            """
        )
        let id = try #require(try await database.value("carillon.broadcast('demo', 'Hello', reference => 'r')"))
        #expect(
            try await database.rows(
                """
                SELECT id - \(id), lane, cardinality(tokens), broadcast_id = \(id), reference, payload
                FROM carillon.messages ORDER BY id
                """
            )
                == [1000, 1000, 345].enumerated().map {
                    #"(\#($0.offset),2,\#($0.element),t,r,"{""aps"":{""alert"":""Hello""}}")"#
                }
        )
        #expect(
            try await database.value(
                """
                SELECT array_agg(t ORDER BY id, place) = ARRAY(SELECT token FROM carillon.tokens WHERE app_id = 1
                    ORDER BY token) FROM carillon.messages, unnest(tokens) WITH ORDINALITY u (t, place)
                """
            ) == "true"
        )
    }

    @Test func `a broadcast takes the same arguments as enqueue`() async throws {
        try await Self.register(3, in: database)
        _ = try await database.value(
            """
            carillon.broadcast(app => 'demo', alert => '{"title": "t"}'::jsonb, badge => 1, run_at => '2100-01-01Z',
                lane => 1, dedupe_key => 'k', push_type => 'alert', priority => 5, expires_at => '2100-01-02Z')
            """
        )
        #expect(
            try await database.rows("SELECT lane, cardinality(tokens), payload, priority FROM carillon.scheduled")
                == [#"(1,3,"{""aps"":{""alert"":{""title"":""t""},""badge"":1}}",5)"#]
        )
        #expect(try await database.value("carillon.broadcast('demo', 'x', dedupe_key => 'k')") == nil)
        #expect(try await database.value("carillon.broadcast('demo', payload => '{\"a\": 1}')") != nil)
        let error = await database.refusal(ofValue: "carillon.broadcast('demo', 'x', badge => -1)")
        #expect(error?.message == #"argument "badge" takes a number from 0 to 2147483647, got -1"#)
    }

    @Test func `a broadcast of an app without tokens returns null, and with strict it is an error`() async throws {
        #expect(try await database.value("carillon.broadcast('demo', 'x', dedupe_key => 'k')") == nil)
        #expect(try await database.value(#"carillon.broadcast('demo', '{"title":"x"}'::jsonb)"#) == nil)
        let error = await database.refusal(ofValue: "carillon.broadcast('demo', 'x', strict => true)")
        #expect(
            error?.message == #"argument "app" takes an app with registered tokens if strict is true, "#
                + "got 'demo', which has none"
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.split_messages") == "0")
        try await Self.register(1, in: database)
        #expect(try await database.value("carillon.broadcast('demo', 'x', dedupe_key => 'k')") != nil)
    }

    /// The arguments of a broadcast of each push type, and the kind that it reaches.
    private static let kinds: [(arguments: String, kind: String)] =
        PushTypeRules.all.compactMap { rules in
            rules.tokenKind.map { kind in
                let content = rules.isSilent ? "content_available => true" : "'x'"
                return ("\(content), push_type => '\(rules.name)'", kind.description)
            }
        } + [
            ("'x'", "device"), ("content_available => true", "device"), ("'x', kind => 'widget'", "widget"),
            (#"payload => '{"aps":{"event":"start"}}', push_type => 'liveactivity'"#, "push_to_start"),
            (#"payload => '{"aps":{"event":"end"}}', push_type => 'liveactivity'"#, "live_activity"),
        ]

    @Test(arguments: kinds)
    func `a broadcast reaches the tokens of the kind that its push type is for`(
        arguments: String,
        kind: String
    ) async throws {
        try await database.useSigningKey()
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, kind)
            SELECT 1, lpad(to_hex(n), 2, '0'), k FROM unnest(carillon.token_kinds()) WITH ORDINALITY AS u(k, n);
            INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
            SELECT 1, 'ee' || lpad(to_hex(n), 2, '0'), k, now()
            FROM unnest(carillon.token_kinds()) WITH ORDINALITY AS u(k, n)
            """
        )
        _ = try await database.value("carillon.broadcast('demo', \(arguments))")
        #expect(
            try await database.rows(
                """
                SELECT t.kind, t.expires_at IS NULL FROM carillon.messages m, unnest(m.tokens) AS u(token)
                    JOIN carillon.tokens t ON t.token = u.token
                """
            ) == ["(\(kind),t)"]
        )
    }

    @Test func `a broadcast names the kind that the app has no tokens of`() async throws {
        try await Self.register(1, in: database)
        let missing = await database.refusal(
            ofValue: "carillon.broadcast('demo', 'x', kind => 'widget', strict => true)"
        )
        #expect(missing?.message.hasSuffix("got 'demo', which has none of kind widget") == true)
        let unknown = await database.refusal(ofValue: "carillon.broadcast('demo', 'x', kind => 'Phone')")
        #expect(unknown?.message.hasPrefix("argument \"kind\" takes one of device, ") == true)
    }

    @Test func `a cancelled broadcast frees its dedupe key`() async throws {
        try await Self.register(1500, in: database)
        let call = "carillon.broadcast('demo', 'x', dedupe_key => 'k', on_duplicate => 'existing')"
        let first = try #require(try await database.value(call))
        #expect(try await database.value(call) == first)
        #expect(try await database.value("carillon.cancel_broadcast(\(first))") == "2")
        #expect(try await database.value(call) != first)
    }

    @Test func `broadcast_progress adds up results, unfinished messages and waiting jobs`() async throws {
        try await Self.register(2500, in: database)
        let id = try #require(try await database.value("carillon.broadcast('demo', 'Hello')"))
        let progress = """
            SELECT app_id, tokens, sent, failed, expired, cancelled, waiting, finished, finished_at IS NULL
            FROM carillon.broadcast_progress(\(id))
            """
        #expect(try await database.rows(progress) == ["(1,2500,0,0,0,0,2500,f,t)"])
        // The first job has ended, and ten tokens of the second wait for a retry.
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent, failed, expired)
            VALUES (\(id), 1, \(id), 990, 8, 2);
            INSERT INTO carillon.unfinished (message_id, app_id, broadcast_id, remaining, sent)
            VALUES (\(id) + 1, 1, \(id), 10, 990);
            DELETE FROM carillon.messages WHERE id <= \(id) + 1
            """
        )
        #expect(try await database.rows(progress) == ["(1,2500,1980,8,2,0,510,f,t)"])
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent) VALUES (\(id) + 2, 1, \(id), 500);
            WITH ended AS (DELETE FROM carillon.unfinished RETURNING *)
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent)
            SELECT message_id, app_id, broadcast_id, sent + remaining FROM ended;
            DELETE FROM carillon.messages
            """
        )
        #expect(try await database.rows(progress) == ["(1,2500,2490,8,2,0,0,t,f)"])
    }

    @Test func `broadcast_progress also counts a message of one job, in every state`() async throws {
        let progress = "SELECT tokens, sent, waiting, finished FROM carillon.broadcast_progress"
        let ready = try #require(try await database.value("carillon.enqueue('demo', '{aa,bb}', 'x', lane => 2)"))
        let later = try #require(
            try await database.value("carillon.enqueue('demo', '{aa}', 'x', run_at => '2100-01-01Z')")
        )
        #expect(try await database.rows("\(progress)(\(ready))") == ["(2,0,2,f)"])
        #expect(try await database.rows("\(progress)(\(later))") == ["(1,0,1,f)"])
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT 1, 1, ARRAY[json_populate_record(NULL::carillon.job, to_json(m))]
            FROM carillon.messages m;
            DELETE FROM carillon.messages
            """
        )
        #expect(try await database.rows("\(progress)(\(ready))") == ["(2,0,2,f)"])
        try await database.run(
            """
            DELETE FROM carillon.inflight;
            INSERT INTO carillon.unfinished (message_id, app_id, remaining, sent) VALUES (\(ready), 1, 1, 1)
            """
        )
        #expect(try await database.rows("\(progress)(\(ready))") == ["(2,1,1,f)"])
        try await database.run(
            """
            DELETE FROM carillon.unfinished;
            INSERT INTO carillon.results (message_id, app_id, sent) VALUES (\(ready), 1, 2)
            """
        )
        #expect(try await database.rows("\(progress)(\(ready))") == ["(2,2,0,t)"])
        let error = await #expect(throws: PostgresError.self) { try await database.rows("\(progress)(9999)") }
        #expect(error?.sqlState == "P0002")
    }

    @Test(arguments: ["device", "widget"])
    func `a broadcast reads the tokens once, whatever the planner knows of them`(kind: String) async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, kind)
            SELECT 1, lpad(to_hex(n), 64, '0'), '\(kind)' FROM generate_series(1, 60000) n;
            ANALYZE carillon.tokens
            """
        )
        let reads = """
            pg_stat_get_xact_tuples_returned('carillon.tokens'::regclass)
                + pg_stat_get_xact_tuples_fetched('carillon.tokens'::regclass)
            """
        try await database.run("BEGIN")
        let before = try await database.number(reads)
        try await database.run("SELECT carillon.broadcast('demo', 'hi', kind => '\(kind)')")
        let after = try await database.number(reads)
        try await database.run("COMMIT")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "60")
        #expect(after - before < 130_000, "\(after - before) rows")
    }
}
