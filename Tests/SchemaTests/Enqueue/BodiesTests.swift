import CarillonPostgres
import TestSupport
import Testing

/// An alert or a payload for each locale, of which the locale of each token chooses one.
@Suite(.demo) struct BodiesTests {
    /// Sets the locale of each of these tokens.
    private func register(_ tokens: [(token: String, locale: String?)]) async throws {
        for (token, locale) in tokens {
            let value = locale.map { "'\($0)'" } ?? "NULL"
            try await database.run(
                "INSERT INTO carillon.tokens (app_id, token, locale) VALUES (1, '\(token)', \(value))"
            )
        }
    }

    /// Each token of the queue with the alert in its payload.
    private static func alerts(in table: String = "messages") -> String {
        """
        SELECT t.token, coalesce(t.payload, m.payload) -> 'aps' ->> 'alert'
        FROM carillon.\(table) m, unnest(m.tokens, m.payloads) AS t(token, payload) ORDER BY t.token
        """
    }

    // MARK: The choice

    private static let choices: [(String?, String)] = [
        ("de-AT", "Servus"), ("de_AT", "Servus"), ("DE-at", "Servus"), ("de-CH", "Hallo"), ("de", "Hallo"),
        ("de_DE@currency=EUR", "Hallo"), ("de_DE.UTF-8", "Hallo"), ("fr-CA", "Hello"), (nil, "Hello"), ("d", "Hello"),
        ("deu", "Hello"), ("zh-Hans-CN", "simplified"), ("zh_Hans", "simplified"), ("zh-Hant-TW", "Chinese"),
        ("zh-Hant-TW-x-y", "Chinese"), ("default-AT", "Hello"), ("-", "Hello"), ("@", "Hello"),
    ]

    @Test(arguments: choices) func `a token gets the body of its locale, of its language, or the default`(
        locale: String?,
        alert: String
    )
        async throws
    {
        try await register([("aa", locale)])
        let bodies =
            #"{"de": "Hallo", "de-AT": "Servus", "default": "Hello", "zh_hans": "simplified", "zh": "Chinese"}"#
        try await database.run("SELECT carillon.enqueue('demo', '{AA}', bodies => '\(bodies)')")
        #expect(try await database.rows(Self.alerts()) == ["(aa,\(alert))"])
        try await database.run(
            "DELETE FROM carillon.messages; SELECT carillon.broadcast('demo', bodies => '\(bodies)')"
        )
        #expect(try await database.rows(Self.alerts()) == ["(aa,\(alert))"])
    }

    // MARK: What is stored

    @Test func `a list of tokens stays one job, and a token that is not registered gets the default`() async throws {
        try await register([("aa", "de"), ("bb", "fr")])
        try await database.run(
            #"""
            SELECT carillon.enqueue('demo', '{bb,cc,AA}', sound => 's', bodies => '{"default": "Hello", "de": "Hallo"}')
            """#
        )
        #expect(
            try await database.rows("SELECT tokens, payload, payloads FROM carillon.messages") == [
                #"("{bb,cc,aa}",,"{""{\\""aps\\"":{\\""alert\\"":\\""Hello\\"",\\""sound\\"":\\""s\\""}}"","#
                    + #"""{\\""aps\\"":{\\""alert\\"":\\""Hello\\"",\\""sound\\"":\\""s\\""}}"","#
                    + #"""{\\""aps\\"":{\\""alert\\"":\\""Hallo\\"",\\""sound\\"":\\""s\\""}}""}")"#
            ]
        )
    }

    @Test func `a broadcast is one message, and each of its jobs has one body`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, locale)
            SELECT 1, lpad(i::text, 4, '0'), (ARRAY['de', 'de', 'de-AT', 'fr', NULL])[1 + i % 5] FROM generate_series(1, 5000) i;
            SELECT carillon.broadcast('demo', bodies => '{"default": "Hello", "de": "Hallo", "it": "Ciao"}')
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT payload::text, count(*), min(cardinality(tokens)), max(cardinality(tokens)), sum(cardinality(tokens))
                FROM carillon.messages GROUP BY 1 ORDER BY 1
                """
            ) == [
                #"("{""aps"":{""alert"":""Hallo""}}",4,200,1000,3000)"#,
                #"("{""aps"":{""alert"":""Hello""}}",3,200,1000,2000)"#,
            ]
        )
        let one = "SELECT DISTINCT broadcast_id = min(id) OVER () FROM carillon.messages"
        #expect(try await database.rows(one) == ["(t)"])
        let split = "FROM carillon.split_messages"
        #expect(try await database.rows("SELECT jobs, tokens, kind \(split)") == ["(7,5000,device)"])
        #expect(try await database.value("SELECT (carillon.broadcast_progress(id)).waiting \(split)") == "5000")
        #expect(try await database.value("SELECT carillon.cancel_broadcast(id) \(split)") == "7")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
    }

    @Test func `a long list is cut, and may be scheduled`() async throws {
        try await register([("0001", "de"), ("1999", "de-CH")])
        try await database.run(
            """
            SELECT carillon.enqueue('demo', array_agg(lpad(i::text, 4, '0')), run_at => now() + interval '1 hour',
                bodies => '{"default": "Hello", "de": "Hallo"}') FROM generate_series(1, 2500) i
            """
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "3")
        let rows = try await database.rows(Self.alerts(in: "scheduled"))
        #expect(rows.count == 2500)
        #expect(rows.filter { $0.hasSuffix(",Hallo)") } == ["(0001,Hallo)", "(1999,Hallo)"])
    }

    @Test func `each device gets its own badge with the body of its locale`() async throws {
        try await register([("aa", "de"), ("bb", "fr"), ("cc", "de")])
        try await database.run("UPDATE carillon.tokens SET badge = 4 WHERE token = 'cc'")
        let bodies = #"'{"default": "Hello", "de": "Hallo"}'"#
        try await database.run(
            """
            SELECT carillon.enqueue('demo', '{aa,bb,cc}', bodies => \(bodies), badge_add => 1);
            SELECT carillon.broadcast('demo', bodies => \(bodies), badge_add => 1)
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT t.token, p.aps ->> 'alert', (p.aps ->> 'badge')::int
                FROM carillon.messages m, unnest(m.tokens, m.payloads) AS t(token, payload),
                    LATERAL (SELECT coalesce(t.payload, m.payload) -> 'aps') AS p(aps) ORDER BY 1, 3
                """
            ) == ["(aa,Hallo,1)", "(aa,Hallo,2)", "(bb,Hello,1)", "(bb,Hello,2)", "(cc,Hallo,5)", "(cc,Hallo,6)"]
        )
    }

    @Test func `a body may be a text, an alert or a payload`() async throws {
        try await register([("aa", "de"), ("bb", "fr")])
        try await database.run(
            """
            SELECT carillon.enqueue('demo', ARRAY[t], bodies => '{"default": "{}", "de": {"title": "A: b"},
                "fr": {"aps": {"alert": "x"}, "k": [1]}}') FROM unnest('{aa,bb,cc}'::text[]) t
            """
        )
        #expect(
            try await database.rows("SELECT tokens, payload FROM carillon.messages ORDER BY tokens") == [
                #"({aa},"{""aps"":{""alert"":{""title"":""A: b""}}}")"#,
                #"({bb},"{""k"":[1],""aps"":{""alert"":""x""}}")"#, #"({cc},"{""aps"":{""alert"":""{}""}}")"#,
            ]
        )
    }

    @Test func `payloads that are all silent are sent in the background`() async throws {
        let silent = #"{"aps": {"content-available": 1}}"#
        let bodies = #"{"default": \#(silent), "de": \#(silent)}"#
        try await database.run("SELECT carillon.enqueue('demo', '{aa}', bodies => '\(bodies)')")
        #expect(try await database.rows("SELECT push_type, priority FROM carillon.messages") == ["(background,5)"])
    }

    @Test func `a duplicate and a broadcast without tokens are not enqueued`() async throws {
        let call = #"carillon.enqueue('demo', '{aa}', bodies => '{"default": "x"}', dedupe_key => 'once')"#
        #expect(try await database.value(call) != nil)
        #expect(try await database.value(call) == nil)
        #expect(try await database.value(#"carillon.broadcast('demo', bodies => '{"default": "x"}')"#) == nil)
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "1")
    }

    @Test func `an app may enqueue bodies`() async throws {
        try await register([("aa", "de")])
        try await database.run(
            #"""
            SET ROLE carillon_app;
            SELECT carillon.broadcast('demo', bodies => '{"default": "Hello", "de": "Hallo"}'); RESET ROLE
            """#
        )
        #expect(try await database.rows(Self.alerts()) == ["(aa,Hallo)"])
    }

    // MARK: What is refused

    @Test(arguments: [
        (#"'[1]'"#, "a JSON object with an alert for each locale, got [1]"),
        (#"'{"de": "x"}'"#, #"an object with the member "default", got one without it"#),
        (#"'{"default": "x", "de ": "x"}'"#, "locales such as de or de-AT as the names of its members, got 'de '"),
        (#"'{"default": "x", "de@x": "x"}'"#, "locales such as de or de-AT as the names of its members, got 'de@x'"),
        (#"'{"default": "x", "": "x"}'"#, "locales such as de or de-AT as the names of its members, got ''"),
        (#"'{"default": "x", "de_AT": "x", "de-at": "y"}'"#, "each locale once, got de-at and de_AT"),
        (
            "(SELECT jsonb_object_agg('de-' || i, 'x') || '{\"default\": \"x\"}' FROM generate_series(1, 200) i)",
            "at most 200 members, got 201"
        ),
        (#"'{"default": "x", "de": null}'"#, #"as its member "de" text, or a JSON object, got null"#),
        (#"'{"default": ["x"]}'"#, #"as its member "default" text, or a JSON object, got ["x"]"#),
        (
            #"'{"default": "x", "de": {"aps": {"content-available": 1}}}'"#,
            #"as its member "de" a push of type alert for tokens of the same kind, got background"#
        ),
        (
            "jsonb_build_object('default', 'x', 'de', repeat('x', 4097))",
            #"as its member "de" a value for a payload of at most 4096 bytes for push type alert, got one of 4117 bytes"#
        ),
        (
            "jsonb_build_object('default', 'x', 'de', jsonb_build_object('aps', '{}'::jsonb, 'a', repeat('x', 4097)))",
            #"as its member "de" a payload of at most 4096 bytes for push type alert, got 4114 bytes"#
        ),
        (
            #"'{"default": {"aps": {"alert": "x"}}}', badge => 1"#,
            #"as its member "default" text, or an alert without the key aps, if there are other parts of a payload"#
        ),
        (#"'{"default": "x"}', push_type => 'background'"#, #"as its member "default" null for push type background"#),
        (#"'{"default": "x"}', alert => 'y'"#, "null if alert, title, subtitle, body, payload or payloads is given"),
        (#"'{"default": "x"}', title => 'y'"#, "null if alert, title, subtitle, body, payload or payloads is given"),
        (#"'{"default": "x"}', payload => '{}'"#, "null if alert, title, subtitle, body, payload or payloads is given"),
        (
            #"'{"default": "x"}', payloads => ARRAY['{}']"#,
            "null if alert, title, subtitle, body, payload or payloads is given"
        ),
    ])
    func `an error names the argument and the locale`(bodies: String, takes: String) async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await database.run("SELECT carillon.enqueue('demo', '{aa}', bodies => \(bodies))")
        }
        #expect(error?.message.hasPrefix("argument \"bodies\" takes \(takes)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("\n") == false)
    }

    @Test(arguments: [("priority => 7", "priority"), ("extra => '[]'", "extra"), ("badge => -1", "badge")])
    func `an error of another argument names that one`(argument: String, name: String) async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await database.run(
                "SELECT carillon.broadcast('demo', \(argument), bodies => '{\"default\": \"x\", \"de\": \"y\"}')"
            )
        }
        #expect(error?.message.hasPrefix("argument \"\(name)\" takes ") == true, "\(error?.message ?? "")")
    }
}
