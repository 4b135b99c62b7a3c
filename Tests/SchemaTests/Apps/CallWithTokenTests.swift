import CarillonPostgres
import TestSupport
import Testing

/// carillon.call_with_token, with which the HTTP API calls functions.
@Suite(.demo) struct CallWithTokenTests {
    private func token(_ rights: String = "send,read,tokens", app: String = "demo") async throws -> String {
        let call = "carillon.create_api_token('\(app)', 'test', rights => '{\(rights)}')"
        return "sha256('\(try #require(try await database.value(call)))')"
    }

    private func refused(_ call: String, _ state: String, _ message: String) async throws {
        let error = await database.refusal(of: "SELECT carillon.call_with_token(\(call))", "\(call)")
        #expect(error?.sqlState == state, "\(call): \(error?.message ?? "")")
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        "isolate_app", "create_api_token", "adopt", "reap", "message_contents", "pause_app", "call_with_token",
        "nothing",
    ])
    func `only functions that an isolated role may call are called`(function: String) async throws {
        try await refused(
            "\(try await token()), 'send', '\(function)', '{}'",
            "42883",
            "no function '\(function)' is for apps"
        )
    }

    /// An error would be in PostgreSQL's log, where anybody could write as much as they like. Nothing of the body is read.
    @Test(arguments: ["'no'", "NULL", "sha256('carillon_old')"], ["'{}'", "'{'", "NULL"])
    func `a token that is unknown or has expired is no error, and has no app`(digest: String, body: String) async throws
    {
        try await database.run(
            """
            INSERT INTO carillon.api_tokens (app_id, name, digest, rights, expires_at)
            VALUES (1, 'old', sha256('carillon_old'), '{send}', now())
            """
        )
        let call = "carillon.call_with_token(\(digest), 'send', 'enqueue', '{}', app => 'demo', body => \(body))"
        let why = digest == "sha256('carillon_old')" ? "the token has expired" : "unknown token"
        #expect(try await database.rows("SELECT app, answer #>> '{}', is_new FROM \(call)") == ["(,\"\(why)\",)"])
    }

    @Test func `an argument without a default that is missing is null`() async throws {
        let token = try await token()
        let update = "'update_activity', '{tokens}', body => '{\"tokens\": [\"ab\"]}'"
        try await refused("\(token), 'send', \(update)", "22023", #"argument "content_state" takes"#)
        try await refused("\(token), 'tokens', 'list_tokens', '{}'", "22023", #"argument "owner" takes"#)
        try await refused("\(token), 'read', 'peek_events', '{}'", "22023", #"argument "consumer" takes"#)
    }

    @Test func `each call is for the app of the token`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            SELECT carillon.subscribe('demo', 'c'), carillon.subscribe('other', 'c');
            SELECT carillon.cancel(carillon.enqueue(a.name, '{ab}', 'x')) FROM carillon.apps a ORDER BY a.id
            """
        )
        let token = try await token(app: "other")
        try await refused(
            "\(token), 'read', 'trace', '{}', 'demo'",
            "28T01",
            "the token is for the app 'other', not for 'demo'"
        )
        let call =
            "carillon.call_with_token(\(token), 'read', 'peek_events', '{}', parameters => '{\"consumer\": \"c\"}')"
        #expect(
            try await database.rows(
                "SELECT e ->> 'app' FROM \(call) AS c, jsonb_array_elements(c.answer -> 'events') AS e"
            )
                == ["(other)"]
        )
        // Not even if a member says otherwise.
        try await refused(
            "\(token), 'send', 'enqueue', '{tokens,alert}', body => '{\"app\": \"demo\"}'",
            "22023",
            #"got a member "app""#
        )
    }

    @Test func `a message is enqueued once for each key, whichever function is called`() async throws {
        try await database.useSigningKey()
        let token = try await token()
        func call(_ function: String, _ members: String, _ body: String) -> String {
            "\(token), 'send', '\(function)', '{\(members)}', body => '\(body)', key => 'k'"
        }
        let update = call("update_activity", "tokens,content_state", #"{"tokens": ["ab"], "content_state": {"a": 1}}"#)
        let first = try await database.rows("SELECT answer, is_new FROM carillon.call_with_token(\(update))")
        #expect(first[0].hasSuffix(",t)"))
        let again = try await database.rows("SELECT answer, is_new FROM carillon.call_with_token(\(update))")
        #expect(again == [first[0].replacing(",t)", with: ",f)")])
        try await refused(update.replacing("1}", with: "2}"), "42710", "has this key and a different body")
        let enqueue = call("enqueue", "tokens,alert", #"{"tokens": ["ab"], "alert": "x"}"#)
        try await refused(enqueue, "42710", "has this key and a different body")
        try await refused(
            call("enqueue", "tokens,alert,dedupe_key", #"{"tokens": ["ab"], "alert": "x", "dedupe_key": "k"}"#),
            "22023",
            #"argument "dedupe_key" takes null if the request has an Idempotency-Key"#
        )
    }

    /// POST /messages takes these members.
    @Test(arguments: ["existing", "error", "null"])
    func `a key that is taken is noticed, whatever strict and on_duplicate say`(onDuplicate: String) async throws {
        let token = try await token()
        func call(_ alert: String, _ other: String = "") -> String {
            "\(token), 'send', 'enqueue', '{tokens,alert,strict,on_duplicate}', key => 'k', "
                + #"body => '{"tokens": ["ab"], "alert": "\#(alert)"\#(other)}'"#
        }
        let other = #", "strict": false, "on_duplicate": "\#(onDuplicate)""#
        for (members, isNew) in [("", "t"), (other, "f"), ("", "f")] {
            let made = "carillon.call_with_token(\(call("x", members)))"
            #expect(try await database.rows("SELECT is_new FROM \(made)") == ["(\(isNew))"])
        }
        for members in ["", other] {
            try await refused(call("y", members), "42710", "has this key and a different body")
        }
    }

    /// Generated clients send all members.
    @Test func `a member that is null takes its default, beside JSON too`() async throws {
        try await database.useSigningKey()
        let token = try await token()
        for body in [
            #"{"tokens": ["ab"], "payload": {"aps": {"alert": "x"}}, "payloads": null, "alert": null, "run_at": null}"#,
            #"{"tokens": ["ab"], "alert": {"body": "x"}, "payload": null, "payloads": null, "priority": null}"#,
            #"{"tokens": ["ab"], "payloads": [{"aps": {"alert": "x"}}], "payload": null, "alert": null, "body": null}"#,
        ] {
            let members = "{tokens,alert,payload,payloads,run_at,priority,body}"
            let call = "carillon.call_with_token(\(token), 'send', 'enqueue', '\(members)', body => '\(body)')"
            #expect(try await database.value("(SELECT c.answer IS NOT NULL FROM \(call) AS c)") == "true", "\(body)")
        }
    }

    @Test(arguments: [
        #""alert": "x", "payload": {}"#, #""alert": {"body": "x"}, "payloads": ["{}"]"#,
        #""payload": {}, "payloads": []"#, #""payload": {}, "payloads": [{}]"#, #""payload": "{}", "payloads": [{}]"#,
        #""alert": {"body": "x"}, "payload": "{}""#, #""alert": {"body": "x"}, "payloads": []"#,
    ])
    func `text and JSON beside each other are refused by the rules of enqueue`(both: String) async throws {
        let token = try await token()
        let body = #"{"tokens": ["ab"], \#(both)}"#
        try await refused(
            "\(token), 'send', 'enqueue', '{tokens,alert,payload,payloads}', body => '\(body)'",
            "22023",
            "argument \"payload"
        )
    }

    @Test(
        arguments: [
            "update_activity", "end_activity", "start_activity", "update_media", "end_media", "start_media",
        ]
    )
    func `a message to no device is refused`(function: String) async throws {
        try await database.useSigningKey()
        let token = try await token()
        let media = function.hasSuffix("media")
        let start = function == "start_activity" ? #", "attributes_type": "A", "attributes": {}, "alert": "x""# : ""
        let rest = media ? #""attributes": {"id": "a"}"# : #""content_state": {"a": 1}"# + start
        let members = "{tokens,content_state,attributes,attributes_type,alert}"
        for (tokens, got) in [("", "null"), (#""tokens": null, "#, "null"), (#""tokens": [], "#, "[]")] {
            try await refused(
                "\(token), 'send', '\(function)', '\(members)', body => '{\(tokens)\(rest)}'",
                "22023",
                "argument \"tokens\" takes one or more device tokens, got \(got)"
            )
        }
    }

    @Test func `the last use of a token is noted once an hour`() async throws {
        let call = "carillon.call_with_token(\(try await token()), 'read', 'list_channels', '{}')"
        let used = "SELECT last_used_at > now() - interval '1 minute', xmin FROM carillon.api_tokens"
        try await database.run("SELECT \(call)")
        let first = try await database.rows(used)
        #expect(first[0].hasPrefix("(t,"))
        try await database.run("SELECT \(call)")
        #expect(try await database.rows(used) == first)
        try await database.run("UPDATE carillon.api_tokens SET last_used_at = now() - interval '2 hours'")
        // A standby can read too.
        try await database.run("BEGIN READ ONLY; SELECT \(call); COMMIT")
        #expect(try await database.rows(used)[0].hasPrefix("(f,"))
        try await database.run("SELECT \(call)")
        #expect(try await database.rows(used)[0].hasPrefix("(t,"))
    }

    @Test func `a list continues where its page ends`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, owner) SELECT 1, 'a' || n, 'u' FROM generate_series(1, 5) n;
            INSERT INTO carillon.tokens (app_id, token, owner) VALUES (1, 'a6', 'v');
            SELECT carillon.request_channel('demo', 0, 'm' || n) FROM generate_series(1, 5) n;
            INSERT INTO carillon.messages (id, app_id, tokens, payload, reference)
            SELECT 10 + n, 1, '{aa}', '{}', CASE n WHEN 6 THEN 's' ELSE 'r' END FROM generate_series(1, 6) n
            """
        )
        for (list, member, key, names) in [
            ("list_tokens('demo', 'u', ", "tokens", "token", ["a1", "a2", "a3", "a4", "a5"]),
            ("list_channels('demo', ", "channels", "reference", ["m1", "m2", "m3", "m4", "m5"]),
            ("list_messages('demo', 'r', ", "messages", "id", ["11", "12", "13", "14", "15"]),
        ] {
            var (found, after): ([String], String?) = ([], "NULL")
            while let place = after {
                let call = "carillon.\(list)after => \(place), max_rows => 2) AS l"
                found += try await database.rows(
                    "SELECT e ->> '\(key)' FROM \(call), jsonb_array_elements(l.\(member)) AS e"
                )
                after = try await database.value("(SELECT quote_literal(l.next) FROM \(call))")
            }
            #expect(found == names.map { "(\($0))" })
        }
    }
}
