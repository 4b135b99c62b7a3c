import CarillonPostgres
import TestSupport
import Testing

/// What operators change by functions, and what is recorded of it.
@Suite(.demo) struct OperatorTests {
    private static let changes =
        "SELECT on_behalf_of, actor = session_user, action, app FROM carillon.audit WHERE at <= clock_timestamp() AND action NOT LIKE 'add %' ORDER BY id"

    /// Failures of one app, a second apart, the newest last, each with content that can be sent again.
    private static func failures(_ count: Int, reason: String = "InternalServerError") -> String {
        """
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
        SELECT i, 1, lpad(to_hex(i), 8, '0'), 500, '\(reason)', now() - (\(count) - i + 1) * interval '1 second'
        FROM generate_series(1, \(count)) i;
        INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
        SELECT i, 1, 1, '{"aps":{"alert":"a"}}', 'alert', 'retry' FROM generate_series(1, \(count)) i
        """
    }

    @Test
    func `each change is recorded with who, what and when, and setting the present value is no change`() async throws {
        #expect(try await database.value("carillon.pause_app('demo', 'too many', 'anna')") == "true")
        #expect(try await database.value("carillon.pause_app('demo', 'again', 'bert')") == "false")
        #expect(try await database.rows("SELECT paused, paused_reason FROM carillon.apps") == ["(t,\"too many\")"])
        #expect(try await database.value("carillon.resume_app('demo', 'bert')") == "true")
        #expect(try await database.value("carillon.resume_app('demo')") == "false")
        #expect(try await database.value("carillon.limit_app('demo', 50, 3, true, ' ')") == "true")
        #expect(try await database.value("carillon.limit_app('demo', 50, 3, true, 'anna')") == "false")
        #expect(try await database.value("carillon.limit_app('demo', NULL, 3, true, 'anna')") == "true")
        let id = try #require(try await database.value("carillon.enqueue('demo', '{aa}', 'x')"))
        #expect(try await database.value("carillon.cancel_message(\(id), 'demo', 'anna')") == "1")
        #expect(
            try await database.rows(Self.changes) == [
                "(anna,t,pause,demo)", "(bert,t,resume,demo)", "(,t,\"set app\",demo)",
                "(anna,t,\"set app\",demo)", "(anna,t,cancel,demo)",
            ]
        )
        #expect(
            try await database.rows(
                "SELECT details -> 'max_rate_before', details -> 'max_rate' FROM carillon.audit WHERE action = 'set app' ORDER BY id"
            ) == ["(null,50)", "(50,null)"]
        )
        #expect(
            try await database.rows(
                "SELECT details::text FROM carillon.audit WHERE action IN ('pause', 'resume') ORDER BY id"
            ) == [
                #"("{""paused"": true, ""paused_before"": false, ""paused_reason"": ""too many"", ""paused_reason_before"": null}")"#,
                #"("{""paused"": false, ""paused_before"": true, ""paused_reason"": null, ""paused_reason_before"": ""too many""}")"#,
            ]
        )
    }

    @Test(arguments: [
        ("carillon.pause_app('nobody')", "42704"), ("carillon.resume_app(NULL)", "42704"),
        ("carillon.limit_app('demo', 0, 1, true)", "22023"), ("carillon.limit_app('demo', 5, NULL, true)", "22023"),
        ("carillon.limit_app('demo', 5, 1, NULL)", "22023"),
        ("carillon.requeue_batch('nobody', '-infinity', now())", "42704"),
        ("carillon.dismiss_batch('demo', NULL, now())", "22023"),
        ("carillon.count_failures('demo', 'requeue', now(), NULL)", "22023"),
        ("carillon.send_test('demo', '[]')", "22023"), ("carillon.send_test('demo', '{\"app\": \"other\"}')", "22023"),
        ("carillon.send_test('demo', '{\"tokens\": [\"aa\"]}')", "22023"),
        ("carillon.send_test('demo', '{\"tokens\": [\"xx\"], \"alert\": \"hi\"}')", "22023"),
        ("carillon.create_api_token('nobody', 'x')", "42704"),
    ])
    func `a wrong argument is refused, and nothing is recorded`(call: String, state: String) async throws {
        let error = await database.refusal(of: "SELECT \(call)")
        #expect(error?.sqlState == state, "\(call): \(error?.message ?? "")")
        #expect(try await database.number("SELECT count(*) FROM carillon.audit WHERE action NOT LIKE 'add %'") == 0)
    }

    @Test func `changes by hand are recorded as well, and the notes of workers are not`() async throws {
        try await database.run(
            """
            UPDATE carillon.apps SET paused = true, paused_reason = 'by hand', max_rate = 7, gateway = 'localhost:1';
            UPDATE carillon.apps SET feedback_error = 'none', updated_at = now();
            UPDATE carillon.certificates SET status = 'ok', last_error = 'none';
            SET carillon.on_behalf_of = ' anna@desk ';
            UPDATE carillon.certificates SET private_key = 'a secret', certificate = 'another';
            SELECT carillon.cancel(carillon.enqueue('demo', '{aa}', 'x')), carillon.request_channel('demo', 0, 'match');
                SELECT carillon.remove_channel('demo', 'match'), carillon.create_api_token('demo', 'shop');
            RESET carillon.on_behalf_of;
            SELECT carillon.cancel(carillon.enqueue('demo', '{aa}', 'x')), carillon.request_channel('demo', 0, 'match');
            SELECT carillon.remove_api_token('demo', 'shop');
            DELETE FROM carillon.channels;
            DELETE FROM carillon.apps
            """
        )
        #expect(
            try await database.rows(
                "SELECT on_behalf_of, source, action, app FROM carillon.audit WHERE action NOT LIKE 'add %' ORDER BY id"
            )
                == [
                    "(,SQL,pause,demo)", "(,SQL,\"set app\",demo)",
                    "(anna@desk,SQL,\"replace credential\",)", "(anna@desk,SQL,cancel,demo)",
                    "(anna@desk,SQL,\"request channel\",demo)", "(anna@desk,SQL,\"remove channel\",demo)",
                    "(anna@desk,SQL,\"create API token\",demo)", "(,SQL,\"remove API token\",demo)",
                    "(,SQL,\"remove app\",demo)",
                ]
        )
        #expect(
            try await database.rows(
                "SELECT details FROM carillon.audit WHERE action IN ('pause', 'set app') ORDER BY id"
            )
                == [
                    #"("{""paused"": true, ""paused_before"": false, ""paused_reason"": ""by hand"", ""paused_reason_before"": null}")"#,
                    #"("{""gateway"": ""localhost:1"", ""max_rate"": 7, ""gateway_before"": null, ""max_rate_before"": null}")"#,
                ]
        )
        #expect(
            try await database.rows(
                "SELECT details ->> 'credential', details -> 'replaced' FROM carillon.audit WHERE action = 'replace credential'"
            ) == [#"(main,"[""certificate"", ""private_key""]")"#]
        )
        #expect(
            try await database.number("SELECT count(*) FROM carillon.audit WHERE details::text LIKE '%secret%'")
                == 0
        )
    }

    @Test func `the actor is the login, whatever its session says it is`() async throws {
        let login = "login_\(database.connection.backendProcessID)"
        try await database.run(
            """
            \(Self.failures(1)); CREATE ROLE \(login); SELECT carillon.isolate_app('demo', '\(login)');
            SET SESSION AUTHORIZATION \(login);
            SET carillon.on_behalf_of = 'postgres'; SET carillon.source = 'worker'; SELECT carillon.requeue_failures('demo');
            SELECT carillon.cancel(carillon.enqueue('demo', '{aa}', 'x')); RESET SESSION AUTHORIZATION; DROP OWNED BY \(login); DROP ROLE \(login)
            """
        )
        #expect(
            try await database.rows(
                "SELECT actor, on_behalf_of, source, action FROM carillon.audit WHERE action IN ('requeue', 'cancel')"
            ) == ["(\(login),postgres,worker,requeue)", "(\(login),postgres,worker,cancel)"]
        )
    }

    @Test func `a replaced value is recorded with the value before`() async throws {
        try await database.run(
            """
            CREATE TABLE devices (token text PRIMARY KEY, seen timestamptz, since timestamptz, app text);
            CREATE FUNCTION watch(updated name, app name) RETURNS void LANGUAGE sql AS
                $$ SELECT carillon.watch_tokens('demo', 'devices', 'token', updated, app) $$;
            SELECT watch('seen', NULL); SELECT watch('seen', NULL); SELECT watch('since', 'app');
            UPDATE carillon.apps SET paused = true; UPDATE carillon.apps SET paused_reason = 'later';
            UPDATE carillon.apps SET name = 'shop', certificate_id = NULL;
            UPDATE carillon.certificates SET key_id = 'K', team_id = 'T', private_key = 'a secret', certificate = NULL;
            UPDATE carillon.certificates SET key_id = 'L';
            SET carillon.on_behalf_of = 'anna';
            SELECT carillon.request_channel('shop', 0, 'match');
            UPDATE carillon.channels SET state = 'missing', channel_id = 'AAAA';
            SELECT carillon.request_channel('shop', 1, 'match'), carillon.remove_channel('shop', 'match')
            """
        )
        let found = try await database.rows(
            "SELECT details FROM carillon.audit WHERE action NOT LIKE 'add %' ORDER BY id"
        ).map { $0.dropFirst(2).dropLast(2).replacing("\"\"", with: "\"") }
        #expect(
            found == [
                #"{"table": "public.devices", "token_column": "token", "updated_column": "seen"}"#,
                #"{"table": "public.devices", "app_column": "app", "updated_column": "since", "app_column_before": null, "updated_column_before": "seen"}"#,
                #"{"paused": true, "paused_before": false}"#,
                #"{"paused_reason": "later", "paused_reason_before": null}"#,
                #"{"name": "shop", "credential": null, "name_before": "demo", "credential_before": "main"}"#,
                #"{"key_id": "K", "team_id": "T", "replaced": ["certificate", "private_key"], "credential": "main", "key_id_before": null, "team_id_before": null}"#,
                #"{"key_id": "L", "team_id": "T", "credential": "main", "key_id_before": "K"}"#,
                #"{"policy": 0, "reference": "match"}"#,
                #"{"state": "requested", "policy": 1, "reference": "match", "channel_id": null, "state_before": "missing", "policy_before": 0, "channel_id_before": "AAAA"}"#,
                #"{"policy": 1, "reference": "match", "state_before": "requested"}"#,
            ],
            "\(found)"
        )
    }

    @Test func `failures are requeued in steps that each look at few, and each once`() async throws {
        try await database.run(Self.failures(25))
        try await database.run(Self.failures(25, reason: "BadTopic"))
        try await database.run("CREATE TABLE far AS SELECT now() AS until")
        let count =
            "SELECT pushes, pushes_precision FROM far, carillon.count_failures('demo', 'requeue', '-infinity', far.until"
        #expect(try await database.rows(count + ")") == ["(50,exact)"])
        #expect(try await database.rows(count + ", 'BadTopic', max_rows_read => 10)") == ["(5,\"at least\")"])
        // What fails after the person confirmed is not part of it.
        try await database.run(
            "INSERT INTO carillon.failures (message_id, app_id, token, status, reason) VALUES (1, 1, 'ff', 500, 'BadTopic')"
        )
        var (after, requeued, steps) = ("-infinity", 0, 0)
        while true {
            let step = try await database.rows(
                """
                    SELECT s.pushes, s.next FROM far, carillon.requeue_batch('demo', '\(after)', far.until, 'BadTopic',
                    on_behalf_of => 'anna', max_rows_read => 10) s
                """
            )
            let parts = step[0].dropFirst().dropLast().split(
                separator: ",",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let pushes = try #require(Int(parts[0]))
            #expect(pushes <= 10)
            (requeued, steps) = (requeued + pushes, steps + 1)
            after = String(parts[1].filter { $0 != "\"" })
            if after.isEmpty { break }
        }
        #expect(requeued == 25 && (5...6).contains(steps))
        #expect(try await database.number("SELECT count(*) FROM carillon.messages") == 25)
        #expect(
            try await database.rows(
                "SELECT reason, count(*) FROM carillon.failures WHERE requeued_at IS NULL GROUP BY 1 ORDER BY 1"
            ) == ["(BadTopic,1)", "(InternalServerError,25)"]
        )
        #expect(
            try await database.rows(
                "SELECT DISTINCT on_behalf_of, action, details ->> 'reason' FROM carillon.audit WHERE action NOT LIKE 'add %'"
            ) == ["(anna,requeue,BadTopic)"]
        )
    }

    @Test func `a dismissed failure stays, and is requeued by the id of its message only`() async throws {
        try await database.run(Self.failures(4))
        #expect(
            try await database.rows("SELECT pushes, next FROM carillon.dismiss_batch('demo', '-infinity', now())")
                == ["(4,)"]
        )
        #expect(
            try await database.rows("SELECT pushes, next FROM carillon.dismiss_batch('demo', '-infinity', now())")
                == ["(0,)"]
        )
        #expect(try await database.number("SELECT count(*) FROM carillon.failures WHERE dismissed_at IS NOT NULL") == 4)
        #expect(try await database.value("carillon.requeue_failures(app => 'demo')") == "0")
        #expect(try await database.value("carillon.requeue_failures(message_id => 3)") == "1")
        #expect(try await database.number("SELECT count(*) FROM carillon.audit WHERE action NOT LIKE 'add %'") == 2)
    }

    @Test func `a test push is shown as it goes out, and then enqueued`() async throws {
        let body = #"{"tokens": ["AA"], "title": "a", "body": "b", "badge": 3, "collapse_id": "c"}"#
        let payload = #"{"aps":{"alert":{"title":"a","body":"b"},"badge":3}}"#
        #expect(
            try await database.rows(
                "SELECT payload = '\(payload)', bytes, max_bytes, push_type, priority, tokens FROM carillon.preview_message('demo', '\(body)')"
            ) == ["(t,\(payload.utf8.count),4096,alert,10,{aa})"]
        )
        #expect(try await database.number("SELECT count(*) FROM carillon.messages") == 0)
        let id = try #require(
            try await database.value("(SELECT s.id FROM carillon.send_test('demo', '\(body)', 'anna') AS s)")
        )
        #expect(
            try await database.rows(
                "SELECT id = \(id), lane, tokens, payload::text = '\(payload)', collapse_id FROM carillon.messages"
            ) == ["(t,0,{aa},t,c)"]
        )
        #expect(
            try await database.rows(
                "SELECT on_behalf_of, action, details ->> 'message_id' FROM carillon.audit WHERE action NOT LIKE 'add %'"
            )
                == ["(anna,\"send test\",\(id))"]
        )
    }

    @Test(arguments: [
        (#"{"payload": {"aps": {"alert": "é"}}}"#, #"{"aps":{"alert":"é"}}"#),
        (#"{"payload": "{ \"aps\" : {} }"}"#, #"{ "aps" : {} }"#),
        (#"{"alert": {"title": "t"}}"#, #"{"aps":{"alert":{"title":"t"}}}"#),
        (#"{"alert": "t", "extra": {"k": [1, 2]}, "sound": null}"#, #"{"aps":{"alert":"t"},"k":[1,2]}"#),
    ])
    func `a message as JSON is the message that the arguments of enqueue make`(body: String, payload: String)
        async throws
    {
        let whole = "'\(body)'::jsonb || '{\"tokens\": [\"aa\"]}'"
        try await database.run("SELECT carillon.send_test('demo', \(whole))")
        #expect(try await database.value("(SELECT payload::text FROM carillon.messages)") == payload)
    }

    @Test func `a token of a program enqueues for its app only, and a key once`() async throws {
        try await database.run("INSERT INTO carillon.apps (name) VALUES ('other')")
        let token = try #require(try await database.value("carillon.create_api_token('other', 'the shop')"))
        #expect(token.hasPrefix("carillon_") && token.count == 9 + 64)
        let again = await database.refusal(of: "SELECT carillon.create_api_token('other', 'the shop')")
        #expect(again?.sqlState == "42710")
        let body = #"{"tokens": ["aa"], "alert": "hi"}"#
        let digest = "sha256(convert_to('\(token)', 'UTF8'))"
        let call = """
            SELECT app, answer, is_new
            FROM carillon.call_with_token(\(digest), 'send', 'enqueue', '{tokens,alert}', body => '\(body)', key => 'k')
            """
        let first = try await database.rows(call)
        #expect(first[0].hasPrefix("(other,") && first[0].hasSuffix(",t)"))
        #expect(try await database.rows(call) == [first[0].replacing(",t)", with: ",f)")])
        let spaced = call.replacing(body, with: #"{ "alert": "hi",  "tokens": ["aa"] }"#)
        #expect(try await database.rows(spaced) == [first[0].replacing(",t)", with: ",f)")])
        let other = await database.refusal(of: call.replacing("hi", with: "ho"))
        #expect(other?.sqlState == "42710" && other?.hint != nil, "\(other?.message ?? "")")
        #expect(try await database.rows("SELECT app_id FROM carillon.messages") == ["(2)"])
        #expect(
            try await database.number("SELECT count(*) FROM carillon.api_tokens WHERE digest::text LIKE '%\(token)%'")
                == 0
        )
        #expect(try await database.value("carillon.remove_api_token('other', 'the shop')") == "true")
        #expect(try await database.rows(call) == [#"(,"""unknown token""",)"#])
    }

    @Test func `a key is free for another body when its interval is over, and compared only where a body came with it`()
        async throws
    {
        let token = try #require(try await database.value("carillon.create_api_token('demo', 'the shop')"))
        func post(_ alert: String) async throws -> String {
            let body = #"'{"tokens": ["aa"], "alert": "\#(alert)"}'"#
            let digest = "sha256(convert_to('\(token)', 'UTF8'))"
            let call =
                "carillon.call_with_token(\(digest), 'send', 'enqueue', '{tokens,alert}', body => \(body), key => 'k')"
            return try await database.rows("SELECT is_new FROM \(call)")[0]
        }
        #expect(try await post("one") == "(t)")
        try await database.run("UPDATE carillon.dedupe SET until = now()")
        #expect(try await post("two") == "(t)")
        let refused = await #expect(throws: PostgresError.self) { try await post("one") }
        #expect(refused?.sqlState == "42710")
        // In SQL another message with the key is ignored, whatever it says.
        try await database.run(
            "UPDATE carillon.dedupe SET until = now(); SELECT carillon.enqueue('demo', '{aa}', 'x', dedupe_key => 'k')"
        )
        #expect(try await post("three") == "(f)")
    }

    @Test func `the contents of a split message are found by the failures of any of its jobs`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent, failed)
            VALUES (1, 1, 1, 10, 0), (2, 1, 1, 9, 1), (3, 2, 1, 9, 1);
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason) VALUES (2, 1, 'aa', 500, 'InternalServerError');
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
            VALUES (2, 1, 1, '{"aps":{"alert":"a"}}', 'alert', 'retry'), (3, 2, 1, '{"aps":{"alert":"b"}}', 'alert', 'retry')
            """
        )
        let call = "SELECT payload FROM carillon.message_contents(1, 'demo')"
        #expect(try await database.rows(call) == [#"("{""aps"":{""alert"":""a""}}")"#])
    }

    @Test func `the next jobs, the tokens of each kind and the next pass are found for a reader`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, attempt, last_status, last_reason)
            SELECT i, 1, '{aa,bb}', '{}', now() + i * interval '1 minute', 1 + i % 2, 503, 'Shutdown'
            FROM generate_series(1, 6) i;
            INSERT INTO carillon.tokens (app_id, token, kind) SELECT 1, lpad(to_hex(i), 8, '0'),
                CASE WHEN i > 3 THEN 'widget' ELSE 'device' END FROM generate_series(1, 5) i;
            SET ROLE carillon_reader
            """
        )
        #expect(
            try await database.rows(
                "SELECT id, tokens, attempt FROM carillon.next_due(only_retries => true, max_rows => 2)"
            )
                == ["(1,2,2)", "(3,2,2)"]
        )
        #expect(try await database.rows("SELECT id FROM carillon.next_due('other')") == [])
        #expect(
            try await database.rows("SELECT kind, tokens FROM carillon.token_counts()") == ["(device,3)", "(widget,2)"]
        )
        #expect(try await database.rows("SELECT every FROM carillon.feedback_schedule()") == ["(00:10:00)"])
    }
}
