import CarillonPostgres
import TestSupport
import Testing

/// The rows that `carillon.enqueue` and plain INSERT store.
@Suite(.demo) struct EnqueueTests {
    private static let message = """
        SELECT app_id, lane, tokens, payload, push_type, priority, expires_at IS NULL, collapse_id, topic, reference,
            on_unknown, attempt, lost_claims, origin, broadcast_id, created_at = now() FROM carillon.messages
        """

    @Test func `a plain INSERT of app, tokens and payload is a complete job`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{ab,cd}', '{ "aps" : {"badge":1} }')
            """
        )
        #expect(
            try await database.rows(Self.message.replacing("created_at = now()", with: "created_at <= now()")) == [
                #"(1,1,"{ab,cd}","{ ""aps"" : {""badge"":1} }",alert,,t,,,,retry,1,0,,,t)"#
            ]
        )
    }

    @Test func `the shortest call enqueues a complete message`() async throws {
        #expect(try await database.value("carillon.enqueue('demo', '{ab}', 'Hello')") == "1")
        #expect(
            try await database.rows(
                "SELECT id, app_id, lane, tokens, payload, push_type, priority FROM carillon.messages"
            )
                == [#"(1,1,1,{ab},"{""aps"":{""alert"":""Hello""}}",alert,)"#]
        )
    }

    @Test func `every argument is stored in its column`() async throws {
        _ = try await database.value(
            """
            carillon.enqueue(app => 'demo', tokens => ARRAY['ab'], alert => 'x', push_type => 'liveactivity',
                priority => 5, expires_at => '2100-01-01Z', collapse_id => 'score', topic => 'com.example.demo.push-type.liveactivity', lane => 0,
                reference => 'order 7', on_unknown => 'fail')
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT push_type, priority, expires_at = '2100-01-01Z', collapse_id, topic, lane, reference, on_unknown
                FROM carillon.messages
                """
            ) == [#"(liveactivity,5,t,score,com.example.demo.push-type.liveactivity,0,"order 7",fail)"#]
        )
    }

    private static let payloads = [
        ("alert => 'Hello'", #"{"aps":{"alert":"Hello"}}"#),
        ("alert => ''", #"{"aps":{"alert":""}}"#),
        ("alert => 'Grüße 🎉 \"q\" \\'", #"{"aps":{"alert":"Grüße 🎉 \"q\" \\"}}"#),
        (#"alert => E'two\nlines'"#, #"{"aps":{"alert":"two\nlines"}}"#),
        ("alert => '{name} is here'", #"{"aps":{"alert":"{name} is here"}}"#),
        (#"alert => '["no", "object"]'"#, #"{"aps":{"alert":"[\"no\", \"object\"]"}}"#),
        (#"body => '{"title": "x"'"#, #"{"aps":{"alert":{"body":"{\"title\": \"x\""}}}"#),
        (#"alert => '"{\"title\""'::jsonb"#, #"{"aps":{"alert":"{\"title\""}}"#),
        (#"alert => '{"title":"t", "body":"b"}'"#, #"{"aps":{"alert":{"title":"t", "body":"b"}}}"#),
        (#"alert => E'\n {"title":"t"} '"#, #"{"aps":{"alert":{"title":"t"}}}"#),
        (#"alert => '{"title":"t"}'::varchar"#, #"{"aps":{"alert":{"title":"t"}}}"#),
        (#"alert => '{"title": "t"}'::json"#, #"{"aps":{"alert":{"title":"t"}}}"#),
        (#"body => '{"title":"t"}'"#, #"{"aps":{"alert":{"body":"{\"title\":\"t\"}"}}}"#),
        (
            #"title => 'T "1"', subtitle => 'S', body => E'two\nlines', sound => 's'"#,
            #"{"aps":{"alert":{"title":"T \"1\"","subtitle":"S","body":"two\nlines"},"sound":"s"}}"#
        ),
        (#"alert => '{"title": "a, b: c", "body": "d"}'::jsonb"#, #"{"aps":{"alert":{"body":"d","title":"a, b: c"}}}"#),
        (#"alert => '"plain"'::jsonb"#, #"{"aps":{"alert":"plain"}}"#),
        ("badge => 0", #"{"aps":{"badge":0}}"#),
        ("sound => 'default'", #"{"aps":{"sound":"default"}}"#),
        ("content_available => true", #"{"aps":{"content-available":1}}"#),
        ("content_available => false, badge => 1", #"{"aps":{"badge":1}}"#),
        (
            "alert => 'x', badge => 3, sound => 's', content_available => true, mutable_content => true, "
                + "category => 'c', thread_id => 't'",
            #"{"aps":{"alert":"x","badge":3,"sound":"s","content-available":1,"mutable-content":1,"category":"c","#
                + #""thread-id":"t"}}"#
        ),
        (
            #"alert => 'x', extra => '{"k": {"a : b": [1, 2.50, "x, y", null, true, {}]}, "z": "\"q\\: "}'"#,
            #"{"aps":{"alert":"x"},"k":{"a : b":[1,2.50,"x, y",null,true,{}]},"z":"\"q\\: "}"#
        ),
        (#"extra => '{"mdm": "id"}', push_type => 'mdm'"#, #"{"aps":{},"mdm":"id"}"#),
        (#"badge => 1, extra => '{}'"#, #"{"aps":{"badge":1}}"#),
        (#"payload => '{ "aps" : {"b":1, "b":2} , "x":1.0 }'"#, #"{ "aps" : {"b":1, "b":2} , "x":1.0 }"#),
        (#"payload => '{ "aps" : {"b":1, "b":2} , "x":1.0 }'::json"#, #"{ "aps" : {"b":1, "b":2} , "x":1.0 }"#),
        (#"payload => '{ "aps" : {"b":1, "c":"a, b: c"} }'::jsonb"#, #"{"aps":{"b":1,"c":"a, b: c"}}"#),
    ]

    @Test func `separate arguments make a compact payload, and a given payload stays as it is`() async throws {
        for (arguments, payload) in Self.payloads {
            let id = try await database.value("carillon.enqueue(app => 'demo', tokens => '{ab}', \(arguments))")
            #expect(try await database.value("SELECT payload FROM carillon.messages WHERE id = \(id ?? "")") == payload)
        }
    }

    private static let types: [(String, String, String?)] = [
        ("content_available => true", "background", "5"),
        ("content_available => true, priority => 5", "background", "5"),
        ("content_available => true, alert => 'x'", "alert", nil),
        ("content_available => true, push_type => 'alert'", "alert", nil),
        (#"content_available => true, extra => '{"k":1}'"#, "background", "5"),
        (#"payload => '{"aps":{"content-available":1}}'"#, "background", "5"),
        (#"payload => '{"aps":{"content-available":1,"alert":"x"}}'"#, "alert", nil),
        (#"payload => '{"aps":{"content-available":"1"}}'"#, "alert", nil),
        (#"payload => '{"aps":{"content-available":1,"alert":null,"sound":null}}'"#, "background", "5"),
        (#"payload => '{"aps":{},"x":"content-available"}'"#, "alert", nil),
        ("content_available => true, push_type => 'background'", "background", "5"),
        ("alert => 'x', priority => 10", "alert", "10"),
        ("badge => 1", "alert", nil),
    ]

    @Test func `the push type is derived from the payload`() async throws {
        for (arguments, type, priority) in Self.types {
            let id = try await database.value("carillon.enqueue(app => 'demo', tokens => '{ab}', \(arguments))")
            let row = try await database.rows(
                "SELECT push_type, priority FROM carillon.messages WHERE id = \(id ?? "")"
            )
            #expect(row == ["(\(type),\(priority ?? ""))"], "\(arguments)")
        }
    }

    @Test func `tokens are stored in lower case, each once, in the given order`() async throws {
        for (given, kept) in [
            ("'{ABcd}'", "{abcd}"), ("'{cc,aa,CC,bb,aa}'", "{cc,aa,bb}"), ("'[5:6]={aa,BB}'", "{aa,bb}"),
            ("'[0:0]={AA}'", "{aa}"), ("ARRAY[repeat('ab', 256)]", "{\(String(repeating: "ab", count: 256))}"),
        ] {
            let id = try await database.value("carillon.enqueue('demo', \(given), 'x')")
            #expect(try await database.value("SELECT tokens FROM carillon.messages WHERE id = \(id ?? "")") == kept)
        }
    }

    @Test(arguments: [1000, 1001, 2500])
    func `a long list is split into jobs that share a broadcast id`(_ count: Int) async throws {
        let list = "ARRAY(SELECT lpad(to_hex(\(count) - i), 8, '0') FROM generate_series(1, \(count)) i)"
        let id = try #require(try await database.value("carillon.enqueue('demo', \(list) || \(list), 'x')"))
        let jobs = try await database.rows(
            "SELECT id, cardinality(tokens), broadcast_id FROM carillon.messages ORDER BY id"
        )
        let first = try #require(Int(id))
        if count <= 1000 {
            #expect(jobs == ["(\(id),1000,)"])
            #expect(try await database.rows("TABLE carillon.split_messages").isEmpty)
            return
        }
        var left = count
        var expected: [String] = []
        while left > 0 {
            expected.append("(\(first + expected.count),\(min(left, 1000)),\(id))")
            left -= 1000
        }
        #expect(jobs == expected)
        #expect(
            try await database.value(
                """
                SELECT array_agg(t ORDER BY id, place) = \(list)
                FROM carillon.messages, unnest(tokens) WITH ORDINALITY u (t, place)
                """
            ) == "true"
        )
        #expect(
            try await database.rows("SELECT id, last_id, app_id, lane, jobs, tokens FROM carillon.split_messages")
                == ["(\(id),\(first + expected.count - 1),1,2,\(expected.count),\(count))"]
        )
    }

    @Test func `a list that is split goes to the bulk lane, unless a lane is given`() async throws {
        let list = "ARRAY(SELECT lpad(to_hex(i), 8, '0') FROM generate_series(1, 1001) i)"
        let bulk = try #require(try await database.value("carillon.enqueue('demo', \(list), 'x')"))
        let single = try #require(try await database.value("carillon.enqueue('demo', '{ab}', 'x')"))
        let named = try #require(try await database.value("carillon.enqueue('demo', \(list), 'x', lane => 1)"))
        let null = try #require(try await database.value("carillon.enqueue('demo', '{ab}', 'x', lane => NULL)"))
        // As workers claim: lane by lane, and in each by id.
        #expect(
            try await database.value(
                "SELECT array_agg(coalesce(broadcast_id, id) ORDER BY lane, id) FROM carillon.messages"
            ) == "{\(single),\(named),\(named),\(null),\(bulk),\(bulk)}"
        )
    }

    @Test func `an empty list of tokens returns null, and with strict it is an error`() async throws {
        for tokens in ["'{}'", "ARRAY[]::text[]", "NULL", "(SELECT array_agg(token) FROM carillon.tokens)"] {
            let call = "carillon.enqueue('demo', \(tokens), 'x', dedupe_key => 'k'"
            #expect(try await database.value("\(call))") == nil, "\(tokens)")
            let error = await database.refusal(ofValue: "\(call), strict => true)", "\(tokens)")
            #expect(error?.sqlState == "22023")
            #expect(error?.message.hasPrefix(#"argument "tokens" takes one or more device tokens"#) == true)
            // Other invalid arguments are errors here too.
            let invalid = await database.refusal(ofValue: "carillon.enqueue('demo', \(tokens), 'x', priority => 7)")
            #expect(invalid?.sqlState == "22023" && invalid?.message.contains("\"priority\"") == true)
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
        // Nothing was enqueued, so the key is free.
        #expect(try await database.value("carillon.enqueue('demo', '{ab}', 'x', dedupe_key => 'k')") != nil)
    }

    @Test func `run_at in the future schedules a message, and any other time enqueues it at once`() async throws {
        for time in ["now()", "'2000-01-01Z'", "now() - interval '1 day'", "NULL"] {
            _ = try await database.value("carillon.enqueue('demo', '{ab}', 'x', run_at => \(time))")
        }
        let id = try await database.value(
            "carillon.enqueue('demo', '{ab}', 'later', run_at => '2100-01-01Z', lane => 2, reference => 'r')"
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "4")
        #expect(
            try await database.rows(
                "SELECT id, app_id, lane, tokens, payload, reference, run_at = '2100-01-01Z' FROM carillon.scheduled"
            ) == [#"(\#(id ?? ""),1,2,{ab},"{""aps"":{""alert"":""later""}}",r,t)"#]
        )
    }

    @Test func `a dedupe key enqueues once until its interval ends`() async throws {
        let call = "carillon.enqueue('demo', '{ab}', 'x', dedupe_key => 'order 7'"
        let first = try await database.value("\(call))")
        #expect(first != nil)
        #expect(try await database.value("\(call))") == nil)
        #expect(try await database.value("carillon.enqueue('demo', '{ab}', 'x', dedupe_key => 'order 8')") != nil)
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "2")
        #expect(
            try await database.rows(
                """
                SELECT message_id, until - now() BETWEEN interval '23 hours' AND interval '1 day'
                FROM carillon.dedupe WHERE key = 'order 7'
                """
            ) == ["(\(first ?? ""),t)"]
        )
        try await database.run("UPDATE carillon.dedupe SET until = now()")
        #expect(try await database.value("\(call), dedupe_for => '5 minutes')") != nil)
        #expect(
            try await database.value(
                "SELECT until <= now() + interval '5 minutes' FROM carillon.dedupe WHERE key = 'order 7'"
            )
                == "true"
        )
    }

    @Test func `on_duplicate => 'existing' returns the id of the message that holds the key`() async throws {
        let call = "carillon.enqueue('demo', '{ab}', 'x', dedupe_key => 'k', on_duplicate =>"
        let first = try await database.value("\(call) 'existing')")
        #expect(first != nil)
        #expect(try await database.value("\(call) 'existing')") == first)
        #expect(try await database.value("\(call) 'null')") == nil)
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "1")
    }

    @Test func `a cancelled message frees its dedupe key`() async throws {
        let list = "ARRAY(SELECT lpad(to_hex(i), 8, '0') FROM generate_series(1, 1500) i)"
        let later = ", run_at => '2100-01-01Z'"
        for (tokens, rest, jobs) in [("'{ab,cd}'", "", "1"), ("'{ab}'", later, "1"), (list, "", "2")] {
            let call = "carillon.enqueue('demo', \(tokens), 'x', dedupe_key => 'k'\(rest))"
            let first = try #require(try await database.value(call))
            #expect(try await database.value(call) == nil)
            #expect(try await database.value("carillon.cancel_broadcast(\(first))") == jobs)
            let second = try #require(try await database.value(call), "\(tokens)")
            #expect(try await database.value(call) == nil)
            #expect(try await database.value("carillon.cancel_broadcast(\(second))") == jobs)
        }
    }

    @Test(arguments: [
        ("0, 0, 2, 0", true), ("0, 0, 1, 1", true), ("1, 0, 1, 0", false), ("0, 1, 1, 0", false), ("2, 0, 0, 0", false),
        ("0, 2, 0, 0", false),
    ])
    func `a message frees its dedupe key if every push of it expired or was cancelled`(
        _ outcome: String,
        _ isFree: Bool
    ) async throws {
        let call = "carillon.enqueue('demo', '{ab,cd}', 'x', dedupe_key => 'k')"
        let id = try #require(try await database.value(call))
        try await database.run(
            """
            DELETE FROM carillon.messages;
            INSERT INTO carillon.results (message_id, app_id, sent, failed, expired, cancelled)
            VALUES (\(id), 1, \(outcome))
            """
        )
        #expect((try await database.value(call) != nil) == isFree)
    }

    @Test func `a message of several jobs frees its dedupe key when the last one has ended unsent`() async throws {
        let list = "ARRAY(SELECT lpad(to_hex(i), 8, '0') FROM generate_series(1, 1500) i)"
        let call = "carillon.enqueue('demo', \(list), 'x', dedupe_key => 'k')"
        let id = try #require(try await database.value(call))
        let end = """
            WITH ended AS (DELETE FROM carillon.messages m WHERE m.id = %s RETURNING m.*)
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent, expired)
            SELECT id, app_id, broadcast_id, 0, cardinality(tokens) FROM ended
            """
        try await database.run(end.replacing("%s", with: id))
        #expect(try await database.value(call) == nil)
        try await database.run(end.replacing("%s", with: "\(id) + 1"))
        #expect(try await database.value(call) != nil)
    }

    @Test func `the interval of a dedupe key begins when its message is due`() async throws {
        let call = """
            carillon.enqueue('demo', '{ab}', 'x', run_at => now() + interval '9 days', dedupe_key => 'k',
                dedupe_for => '1 hour')
            """
        #expect(try await database.value(call) != nil)
        #expect(try await database.value(call) == nil)
        #expect(try await database.value("SELECT until - now() > interval '9 days' FROM carillon.dedupe") == "true")
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "1")
    }

    @Test func `four callers with one dedupe key enqueue once, and a rollback frees it`() async throws {
        let call = "carillon.enqueue('demo', '{ab}', 'x', dedupe_key => 'k')"
        let ids = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4 {
                group.addTask { try await database.session { other in try await other.value(call) } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ids.compactMap { $0 }.count == 1)
        try await database.run("DELETE FROM carillon.dedupe")
        try await database.run("BEGIN; SELECT \(call); ROLLBACK")
        #expect(try await database.value(call) != nil)
    }

    @Test func `text arguments are stored unchanged, whatever characters they contain`() async throws {
        let nasty = "'; DROP TABLE carillon.apps; -- $1 %s \\ \u{7F}"
        let quoted = "'\(nasty.replacing("'", with: "''"))'"
        try await database.run("INSERT INTO carillon.apps (name, topic) VALUES (\(quoted), 't')")
        _ = try await database.value(
            """
            carillon.enqueue(app => \(quoted), tokens => '{ab}', alert => \(quoted), sound => \(quoted),
                category => \(quoted), thread_id => \(quoted), extra => jsonb_build_object(\(quoted), \(quoted)),
                reference => \(quoted), dedupe_key => \(quoted))
            """
        )
        #expect(try await database.value("SELECT payload -> 'aps' ->> 'alert' FROM carillon.messages") == nasty)
        #expect(try await database.value("SELECT payload ->> \(quoted) FROM carillon.messages") == nasty)
        #expect(try await database.value("SELECT reference FROM carillon.messages") == nasty)
    }
}
