import CarillonPostgres
import CarillonPushRules
import TestSupport
import Testing

@Suite struct TokenTests {
    @Test(.demo)
    func `registering a token again renews it, and keeps the owner unless another is given`() async throws {
        _ = try await database.value("carillon.register_token('demo', 'AABB', 'ann')")
        try await database.run("UPDATE carillon.tokens SET last_update = now() - interval '1 day'")
        _ = try await database.value("carillon.register_token(app => 'demo', token => 'aabb')")
        let row = "SELECT app_id, token, owner, last_update > now() - interval '1 minute' FROM carillon.tokens"
        #expect(try await database.rows(row) == ["(1,aabb,ann,t)"])
        _ = try await database.value("carillon.register_token('demo', 'aabb', 'bob')")
        #expect(try await database.rows(row) == ["(1,aabb,bob,t)"])
    }

    @Test(.demo) func `a clock that was set back makes no registration older`() async throws {
        try await database.run("INSERT INTO carillon.tokens VALUES (1, 'aabb', now() + interval '1 hour')")
        _ = try await database.value("carillon.register_token('demo', 'aabb')")
        #expect(try await database.value("SELECT last_update > now() FROM carillon.tokens") == "true")
    }

    @Test(.demo) func `a token has a kind, which a later registration keeps unless it names another`() async throws {
        let row = """
            SELECT kind, round(extract(epoch FROM expires_at - now()) / 3600) FROM carillon.tokens
            """
        _ = try await database.value("carillon.register_token('demo', 'aabb')")
        #expect(try await database.rows(row) == ["(device,)"])
        _ = try await database.value("carillon.register_token('demo', 'aabb', kind => 'live_activity')")
        #expect(try await database.rows(row) == ["(live_activity,12)"])
        _ = try await database.value(
            "carillon.register_token('demo', 'aabb', expires_at => now() + interval '2 hours')"
        )
        #expect(try await database.rows(row) == ["(live_activity,2)"])
        _ = try await database.value("carillon.register_token('demo', 'aabb')")
        #expect(try await database.rows(row) == ["(live_activity,12)"])
        _ = try await database.value("carillon.register_token('demo', 'aabb', kind => 'push_to_start')")
        #expect(try await database.rows(row) == ["(push_to_start,)"])
    }

    @Test(.demo)
    func `the functions have the kinds of the program, the table accepts them and others, and its comment names them`()
        async throws
    {
        #expect(
            try await database.rows("SELECT unnest(carillon.token_kinds())") == TokenKind.names.map { "(\($0))" }
        )
        let longest = String(repeating: "k", count: 64)
        for kind in TokenKind.names + ["spatial", "spatial-2_x", longest] {
            try await database.run(
                """
                INSERT INTO carillon.tokens (app_id, token, kind) VALUES (1, 'aabb', '\(kind)')
                ON CONFLICT (app_id, token) DO UPDATE SET kind = excluded.kind
                """
            )
            #expect(TokenKind(rawValue: kind) != nil)
        }
        let comment = try await database.value(
            """
            col_description('carillon.tokens'::regclass, (SELECT a.attnum FROM pg_attribute a
                WHERE a.attrelid = 'carillon.tokens'::regclass AND a.attname = 'kind'))
            """
        )
        for kind in TokenKind.names { #expect(comment?.contains(kind) == true, "\(kind)") }
        for kind in ["", "Phone", "my phone", "phone\n", "téléphone", longest + "k"] {
            let error = await database.refusal(
                of: "INSERT INTO carillon.tokens (app_id, token, kind) VALUES (1, 'ccdd', '\(kind)')",
                "\(kind)"
            )
            #expect(error?.constraint == "tokens_kind_is_a_name")
            #expect(TokenKind(rawValue: kind) == nil)
        }
    }

    @Test(.demo) func `maintenance deletes tokens that have expired`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, expires_at) VALUES
                (1, 'aa', now() - interval '1 s'), (1, 'bb', now() + interval '1 hour'), (1, 'cc', NULL)
            """
        )
        #expect(try await database.value("SELECT changed FROM carillon.maintain_step('delete', 'tokens')") == "1")
        #expect(try await database.rows("SELECT token FROM carillon.tokens ORDER BY 1") == ["(bb)", "(cc)"])
    }

    @Test(
        .demo,
        arguments: [
            (
                "kind => 'Phone'",
                #"argument "kind" takes one of \#(TokenKind.names.joined(separator: ", ")), got 'Phone'"#
            ),
            (
                "expires_at => '2020-01-01Z'",
                #"argument "expires_at" takes a time in the future, up to the year 2200, got '2020-01-01 00:00:00+00'"#
            ),
        ]
    )
    func `register_token refuses a kind that is no name, and a time that is past`(
        argument: String,
        message: String
    ) async throws {
        try await database.run("SET TimeZone = 'UTC'")
        let error = await database.refusal(ofValue: "carillon.register_token('demo', 'aabb', \(argument))")
        #expect(error?.message == message)
    }

    @Test(.demo) func `register_token refuses an invalid token, an unknown app and a long owner`() async throws {
        for (app, token, argument) in [
            ("'demo'", "'xyz'", "token"), ("'demo'", "'abc'", "token"), ("'demo'", "NULL", "token"),
            ("'demo'", "E'ab\\n'", "token"), ("'demo'", "repeat('a', 514)", "token"), ("'nope'", "'ab'", "app"),
            ("NULL", "'ab'", "app"), ("'demo'", "'ab', repeat('é', 1024) || 'x'", "owner"),
        ] {
            let error = await database.refusal(ofValue: "carillon.register_token(\(app), \(token))")
            #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(String(describing: error))")
        }
        let error = await database.refusal(of: "INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'AB')")
        #expect(error?.constraint == "tokens_token_is_lower_case_hex")
    }

    @Test(.demo) func `a token, or all tokens of an owner, are unregistered in one app`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            INSERT INTO carillon.tokens (app_id, token, owner) VALUES
                (1, 'aa', 'me'), (1, 'bb', 'me'), (1, 'cc', 'you'), (2, 'aa', 'me')
            """
        )
        #expect(try await database.value("carillon.unregister_token('demo', 'CC')") == "1")
        #expect(try await database.value("carillon.unregister_token('demo', 'cc')") == "0")
        #expect(try await database.value("carillon.unregister_token('demo', owner => 'me')") == "2")
        #expect(try await database.rows("SELECT app_id, token FROM carillon.tokens") == ["(2,aa)"])
        for (arguments, state) in [
            ("'nobody', 'aa'", "42704"), ("'demo'", "22023"), ("'demo', 'aa', 'me'", "22023"),
            ("'demo', 'x'", "22023"),
        ] {
            let error = await database.refusal(of: "SELECT carillon.unregister_token(\(arguments))")
            #expect(error?.sqlState == state, "\(arguments): \(error?.message ?? "")")
        }
    }

    @Test(.demo) func `a pass deletes a token only if its last registration is before the feedback`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            INSERT INTO carillon.tokens (app_id, token, last_update) VALUES
                (1, 'aa', '2020-01-01Z'), (1, 'bb', '2020-01-02Z'), (1, 'cc', '2020-01-03Z'), (1, 'dd', '2020-01-01Z'),
                (2, 'aa', '2020-01-01Z');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason) VALUES
                (1, 'AA', '2020-01-02Z', 'Unregistered'), (1, 'bb', '2020-01-02Z', NULL), (1, 'cc', '2020-01-02Z', NULL),
                (1, 'aa', '2019-01-01Z', NULL), (1, 'ee', '2020-01-02Z', NULL)
            """
        )
        #expect(try await database.value("carillon.reap()") == "1")
        #expect(
            try await database.rows("SELECT app_id, token FROM carillon.tokens ORDER BY 1, 2")
                == ["(1,bb)", "(1,cc)", "(1,dd)", "(2,aa)"]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.feedback WHERE handled_at IS NULL") == "0")
        #expect(try await database.value("carillon.reap()") == "0")
    }

    @Test(.demo)
    func `feedback with a future time deletes no token that is registered after it arrived`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, seen_at)
            VALUES (1, 'aa', now() + interval '1 year', now() - interval '1 hour')
            """
        )
        _ = try await database.value("carillon.register_token('demo', 'aa')")
        #expect(try await database.value("carillon.reap('demo')") == "0")
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "1")
    }

    @Test(.demo) func `a pass may be limited to one app, which must exist`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            INSERT INTO carillon.tokens VALUES (1, 'aa', '2020-01-01Z'), (2, 'aa', '2020-01-01Z');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, 'aa', now()), (2, 'aa', now())
            """
        )
        #expect(try await database.value("carillon.reap('other')") == "1")
        #expect(try await database.value("SELECT app_id FROM carillon.tokens") == "1")
        let error = await database.refusal(ofValue: "carillon.reap('nope')")
        #expect(error?.sqlState == "42704")
    }

    @Test(.demo) func `a pass deletes many thousand tokens in batches`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens SELECT 1, lpad(to_hex(i), 8, '0'), '2020-01-01Z' FROM generate_series(1, 25000) i;
            INSERT INTO carillon.feedback (app_id, token, unregistered_at)
            SELECT 1, token, now() FROM carillon.tokens WHERE token < lpad(to_hex(21001), 8, '0')
            """
        )
        #expect(try await database.value("carillon.reap()") == "21000")
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "4000")
    }
}
