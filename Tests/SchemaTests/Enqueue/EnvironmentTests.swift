import CarillonPostgres
import TestSupport
import Testing

/// Apps whose tokens belong to both environments of Apple's: the lane of a job says in which one it is sent.
@Suite(.demo) struct EnvironmentTests {
    /// `aa` and `bb` are of the sandbox, `cc` of production, as the app, and `dd` of an environment that is not known.
    private static let setUp = """
        UPDATE carillon.apps SET both_environments = true;
        INSERT INTO carillon.tokens (app_id, token, environment, locale)
        VALUES (1, 'aa', 'sandbox', 'de'), (1, 'bb', 'sandbox', NULL), (1, 'cc', 'production', 'de'), (1, 'dd', NULL, NULL);
        """

    private static let queue = "SELECT lane, tokens FROM carillon.messages ORDER BY lane, tokens"

    @Test(arguments: [
        ("enqueue('demo', '{AA}', 'x')", ["(11,{aa})"]), ("push('demo', '{bb}', 'x', 1, NULL)", ["(11,{bb})"]),
        (#"push('demo', '{bb}', '{"aps":{"alert":"x"}}')"#, ["(11,{bb})"]),
        (
            #"push_each('demo', '{aa,cc}', ARRAY['{"aps":{"alert":"x"}}','{"aps":{"alert":"y"}}'])"#,
            ["(1,{cc})", "(11,{aa})"]
        ),
        ("enqueue('demo', '{bb,aa}', 'x', lane => 0, badge_add => 1)", [#"(10,"{bb,aa}")"#]),
        ("enqueue('demo', '{cc,dd,ee}', 'x')", [#"(1,"{cc,dd,ee}")"#]),
        ("enqueue('demo', '{cc,aa,ee}', 'x')", [#"(1,"{cc,ee}")"#, "(11,{aa})"]),
        ("broadcast('demo', 'x')", [#"(2,"{cc,dd}")"#, #"(12,"{aa,bb}")"#]),
        (
            #"broadcast('demo', bodies => '{"default": "x", "de": "y"}')"#,
            ["(2,{cc})", "(2,{dd})", "(12,{aa})", "(12,{bb})"]
        ),
    ])
    func `a token waits in the lane of its environment`(call: String, lanes: [String]) async throws {
        try await database.run("\(Self.setUp) SELECT carillon.\(call)")
        #expect(try await database.rows(Self.queue) == lanes)
    }

    @Test func `without both_environments, all tokens wait in one lane`() async throws {
        try await database.run(
            "\(Self.setUp) UPDATE carillon.apps SET both_environments = false; SELECT carillon.broadcast('demo', 'x')"
        )
        #expect(try await database.rows(Self.queue) == [#"(2,"{aa,bb,cc,dd}")"#])
    }

    @Test func `a message to both environments is one message`() async throws {
        try await database.run("\(Self.setUp) SELECT carillon.enqueue('demo', '{aa,cc}', 'x', reference => 'r')")
        let status = "FROM carillon.message_status(reference => 'r')"
        #expect(try await database.rows("SELECT state, tokens, waiting \(status)") == ["(ready,2,2)"])
        #expect(try await database.value("SELECT carillon.cancel(id) \(status)") == "2")
        #expect(try await database.rows(Self.queue) == [])
    }

    @Test func `a long list is cut into jobs of one environment each`() async throws {
        try await database.run(
            """
            \(Self.setUp) SELECT carillon.enqueue('demo', array_agg(lpad(i::text, 4, '0')) || '{aa,bb}', 'x',
                run_at => now() + interval '1 hour') FROM generate_series(1, 1500) i
            """
        )
        #expect(
            try await database.rows("SELECT lane, cardinality(tokens) FROM carillon.scheduled ORDER BY lane, id") == [
                "(2,1000)", "(2,500)", "(12,2)",
            ]
        )
    }

    @Test func `an update of a Live Activity keeps its order in both environments`() async throws {
        try await database.run(
            """
            \(Self.setUp) UPDATE carillon.tokens SET kind = 'live_activity';
            SELECT carillon.update_activity('demo', '{aa,cc}', '{}')
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT u.token, m.lane FROM carillon.updates u JOIN carillon.messages m ON m.id = u.message_id
                WHERE u.token = ANY (m.tokens) ORDER BY u.token
                """
            ) == ["(aa,11)", "(cc,1)"]
        )
    }

    @Test func `tokens that go back as BadDeviceToken change their environment, but those in use stay`() async throws {
        try await database.run(Self.setUp)
        func learn(_ tokens: String, lane: Int) async throws {
            try await database.run(
                """
                SELECT carillon.learn_environments(1, ARRAY[carillon.job(id => 1, lane => \(lane)::smallint,
                    tokens => '\(tokens)', payload => '{}', last_reason => 'BadDeviceToken')])
                """
            )
        }
        try await learn("{CC,dd,ff}", lane: 21)
        try await learn("{aa}", lane: 31)
        let environments = "SELECT token, environment FROM carillon.tokens ORDER BY token"
        let learned = ["(aa,production)", "(bb,sandbox)", "(cc,sandbox)", "(dd,sandbox)"]
        #expect(try await database.rows(environments) == learned)
        try await database.session { other in
            try await other.run("BEGIN; UPDATE carillon.tokens SET badge = 1 WHERE token = 'bb'")
            try await learn("{bb}", lane: 31)
            try await other.run("ROLLBACK")
        }
        #expect(try await database.rows(environments) == learned)
    }
}
