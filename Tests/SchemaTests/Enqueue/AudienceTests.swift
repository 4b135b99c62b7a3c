import CarillonPostgres
import TestSupport
import Testing

/// Broadcasts to some of the tokens of a kind: those with given attributes, locales or activity type.
@Suite(.demo) struct AudienceTests {
    /// Tokens that differ in what is chosen by, and some that a broadcast leaves out whatever is chosen.
    private static let tokens = #"""
        INSERT INTO carillon.apps (name) VALUES ('other');
        INSERT INTO carillon.tokens (app_id, token, locale, attributes, activity_type) VALUES
            (1, '01', 'de', '{"plan": "pro", "age": 7}', NULL), (1, '02', 'de-AT', '{"plan": "free"}', 'Ride'),
            (1, '03', 'de_CH', '{"plan": "pro", "tags": ["a", "b"]}', NULL), (1, '04', 'DE', NULL, 'Match'),
            (1, '05', 'den', '{"plan": "pro\"; --"}', NULL), (1, '06', NULL, '{"plan": {"name": "it''s \"pro\""}}', NULL),
            (1, '07', 'en-DE', '{}', 'ride');
        INSERT INTO carillon.tokens (app_id, token, kind, expires_at, locale, attributes, activity_type) VALUES
            (1, '08', 'device', now(), 'de', '{"plan": "pro", "age": 7}', 'Ride'),
            (1, '09', 'widget', NULL, 'de', '{"plan": "pro", "age": 7}', 'Ride'),
            (2, '10', 'device', NULL, 'de', '{"plan": "pro", "age": 7}', 'Ride')
        """#

    private static let choices: [(arguments: String, tokens: String)] = [
        (#"where_attributes => '{"plan": "pro"}'"#, "01,03"),
        (#"where_attributes => '{"age": 7, "plan": "pro"}'"#, "01"),
        (#"where_attributes => '{"tags": ["b"]}'"#, "03"), (#"where_attributes => '{"plan": "pro\"; --"}'"#, "05"),
        (#"where_attributes => '{"plan": {"name": "it''s \"pro\""}}'"#, "06"),
        (#"where_attributes => '{"plan": null}'"#, ""), (#"where_attributes => '{"age": "7"}'"#, ""),
        ("where_attributes => '{}'", "01,02,03,04,05,06,07"), ("where_attributes => NULL", "01,02,03,04,05,06,07"),
        ("locales => ARRAY['de']", "01,02,03,04"), ("locales => '{DE_at,en}'", "02,07"), ("locales => '{de-DE}'", ""),
        ("locales => '{den}'", "05"), ("locales => '{d}'", ""), ("locales => '{en-US,de-CH}'", "03"),
        ("activity_type => 'Ride'", "02"), ("activity_type => 'Tram'", ""),
        (#"where_attributes => '{"plan": "pro"}', locales => '{de}'"#, "01,03"),
        (#"where_attributes => '{"plan": "free"}', locales => '{de}', activity_type => 'Ride'"#, "02"),
        ("locales => '{de}', kind => 'widget'", "09"), ("activity_type => 'Ride', kind => 'voip'", ""),
    ]

    @Test func `a broadcast reaches all tokens that have what was asked for, and no other, and audience counts them`()
        async throws
    {
        try await database.run(Self.tokens)
        for (arguments, tokens) in Self.choices {
            let count = tokens.split(separator: ",").count
            #expect(
                try await database.rows("SELECT * FROM carillon.audience('demo', \(arguments))") == ["(\(count),t)"],
                "\(arguments)"
            )
            for alert in ["'x'", "'{\"title\": \"x\"}'::jsonb"] {
                let id = try await database.value("carillon.broadcast('demo', \(alert), \(arguments))")
                #expect((id == nil) == tokens.isEmpty, "\(arguments)")
                let reached = try await database.value("SELECT array_to_string(tokens, ',') FROM carillon.messages")
                #expect(reached ?? "" == tokens, "\(arguments)")
                try await database.run("DELETE FROM carillon.messages")
            }
        }
    }

    @Test func `a broadcast to thousands of many is in order, split, counted and cancelled as any other`() async throws
    {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, locale)
            SELECT 1, lpad(to_hex(i), 8, '0'), (ARRAY['en', 'de'])[1 + i % 2] FROM generate_series(1, 5000) i
            """
        )
        let call = "carillon.broadcast('demo', 'x', locales => '{de}', dedupe_key => 'k', on_duplicate => 'existing')"
        let id = try #require(try await database.value(call))
        #expect(try await database.value(call) == id)
        #expect(
            try await database.rows(
                "SELECT id - \(id), lane, cardinality(tokens), broadcast_id = \(id) FROM carillon.messages ORDER BY id"
            ) == ["(0,2,1000,t)", "(1,2,1000,t)", "(2,2,500,t)"]
        )
        #expect(
            try await database.value(
                """
                SELECT array_agg(t ORDER BY id, place) = ARRAY(SELECT token FROM carillon.tokens WHERE locale = 'de'
                    ORDER BY token) FROM carillon.messages, unnest(tokens) WITH ORDINALITY u (t, place)
                """
            ) == "true"
        )
        #expect(
            try await database.rows("SELECT tokens, waiting FROM carillon.broadcast_progress(\(id))") == ["(2500,2500)"]
        )
        #expect(try await database.value("carillon.cancel(\(id))") == "3")
        let badge =
            "carillon.broadcast('demo', 'x', locales => '{de}', badge_add => 1, run_at => now() + interval '1 day')"
        #expect(try await database.value(badge) != nil)
        let badges = "SELECT locale, badge, count(*) FROM carillon.tokens GROUP BY 1, 2 ORDER BY 1"
        #expect(try await database.rows(badges) == ["(de,1,2500)", "(en,0,2500)"])
        #expect(try await database.value("SELECT sum(cardinality(payloads)) FROM carillon.scheduled") == "2500")
    }

    @Test func `a choice that nobody fits is null, and with strict an error that says so`() async throws {
        try await database.run(Self.tokens)
        let call = "carillon.broadcast('demo', 'x', locales => '{fr}', dedupe_key => 'k'"
        #expect(try await database.value(call + ")") == nil)
        let error = await #expect(throws: PostgresError.self) { try await database.value(call + ", strict => true)") }
        #expect(error?.message.hasSuffix("got 'demo', which has none that was asked for") == true)
        #expect(try await database.value(call.replacing("fr", with: "de") + ")") != nil)
    }

    @Test(arguments: [
        ("where_attributes => '[1]'", "argument \"where_attributes\" takes a JSON object, got [1]"),
        ("where_attributes => '\"pro\"'", "argument \"where_attributes\" takes a JSON object, got \"pro\""),
        ("locales => '{}'", "argument \"locales\" takes an array of one or more locales, got none"),
        (
            "locales => '{{de},{en}}'",
            "argument \"locales\" takes an array of one or more locales, got an array of arrays"
        ),
        ("locales => '{de,%}'", "argument \"locales\" takes locales such as de or pt-BR, got '%'"),
        ("locales => '{de,NULL}'", "argument \"locales\" takes locales such as de or pt-BR, got null"),
        ("activity_type => ''", "argument \"activity_type\" takes text of 1 to 255 bytes, got ''"),
    ])
    func `a choice that cannot be meant is refused, by broadcast and by audience`(
        arguments: String,
        message: String
    ) async throws {
        for call in ["broadcast('demo', 'x', ", "audience('demo', "] {
            let error = await #expect(throws: PostgresError.self) {
                try await database.value("carillon.\(call)\(arguments))")
            }
            #expect(error?.message == message)
        }
    }

    @Test func `an audience among more tokens than are read is estimated, and says so`() async throws {
        let count = "SELECT tokens BETWEEN 45000 AND 55000, exact FROM carillon.audience('demo', locales => '{de}')"
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, locale)
            SELECT 1, encode(sha256(i::text::bytea), 'hex'), (ARRAY['en', 'de'])[1 + i % 2] FROM generate_series(1, 100000) i
            """
        )
        #expect(
            try await database.rows("SELECT * FROM carillon.audience('demo', locales => '{de}')") == ["(50000,t)"]
        )
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, locale, kind) VALUES (1, 'ff', 'de', 'widget');
            ANALYZE carillon.tokens
            """
        )
        #expect(try await database.rows(count) == ["(t,f)"])
        #expect(try await database.rows("SELECT * FROM carillon.audience('demo', 'widget')") == ["(1,t)"])
        #expect(try await database.rows("SELECT * FROM carillon.audience('demo', locales => '{fr}')") == ["(0,f)"])
    }

    @Test func `an isolated role counts and reaches only tokens of its app`() async throws {
        try await IsolationTests.isolated { database, role async throws in
            try await database.run("RESET ROLE; UPDATE carillon.tokens SET locale = 'de'; SET ROLE \(role)")
            let count = "SELECT * FROM carillon.audience('demo', locales => '{de}')"
            #expect(try await database.rows(count) == ["(1,t)"])
            let id = try #require(try await database.value("carillon.broadcast('demo', 'x', locales => '{de}')"))
            #expect(try await database.value("SELECT tokens FROM carillon.broadcast_progress(\(id), 'demo')") == "1")
            for call in ["audience('other'", "broadcast('other', 'x'"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.value("carillon.\(call), locales => '{de}')")
                }
                #expect(error?.sqlState == "42704", "\(error?.message ?? "")")
            }
        }
    }

    @Test func `a start for everyone leaves out the tokens of another activity type, and may be for some only`()
        async throws
    {
        try await database.useSigningKey()
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, kind, activity_type, locale, attributes) VALUES
                (1, '01', 'push_to_start', 'Ride', 'de', '{"plan": "pro"}'), (1, '02', 'push_to_start', 'Match', 'de', NULL),
                (1, '03', 'push_to_start', NULL, 'en', '{"plan": "pro"}'), (1, '04', 'media_start', NULL, 'de', NULL),
                (1, '05', 'media_start', NULL, 'en', '{"plan": "pro"}')
            """
        )
        let start = "start_activity('demo', NULL, 'Ride', '{}', '{}', title => 'x', everyone => true"
        let media = "start_media('demo', NULL, '{\"id\": 1}', everyone => true"
        for (call, tokens) in [
            (start, "01,03"), (start + ", locales => '{de}'", "01"),
            (start + #", where_attributes => '{"plan": "pro"}', locales => '{en}'"#, "03"),
            (start.replacing("'{}'", with: "'{}'::jsonb") + ", locales => '{de}'", "01"), (media, "04,05"),
            (media + ", locales => '{de}'", "04"), (media + #", where_attributes => '{"plan": "pro"}'"#, "05"),
        ] {
            _ = try await database.value("carillon.\(call))")
            let reached = try await database.value("SELECT array_to_string(tokens, ',') FROM carillon.messages")
            #expect(reached == tokens, "\(call)")
            try await database.run("DELETE FROM carillon.messages")
        }
        for call in [start, media] {
            for (name, value) in [("where_attributes", "'{}'"), ("locales", "'{de}'")] {
                let named = call.replacing("NULL", with: "'{ab}'").replacing(
                    "everyone => true",
                    with: "\(name) => \(value)"
                )
                let error = await #expect(throws: PostgresError.self) { try await database.value("carillon.\(named))") }
                #expect(error?.message == "argument \"\(name)\" takes null unless everyone is true, got a value")
            }
        }
    }
}
