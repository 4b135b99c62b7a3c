import CarillonPostgres
import TestSupport
import Testing

/// Badges that are counted for each device.
@Suite(.demo) struct BadgeTests {
    private static let setUp = """
        SELECT carillon.register_token('demo', 'aa', 'ann'), carillon.register_token('demo', 'bb', 'ann'),
            carillon.register_token('demo', 'cc', 'bob');
        """

    private static let badges = "SELECT token, badge FROM carillon.tokens ORDER BY token"

    /// Each token of the queue with the badge in its payload.
    private static let queue = """
        SELECT t.token, coalesce(t.payload, m.payload) -> 'aps' -> 'badge'
        FROM carillon.messages m, unnest(m.tokens, m.payloads) AS t(token, payload) ORDER BY m.id, t.token
        """

    @Test func `each device gets its own number, and a token that is not registered counts from 0`() async throws {
        try await database.run(
            """
            \(Self.setUp)
            SELECT carillon.enqueue('demo', '{aa}', 'x', badge_add => 1);
            SELECT carillon.enqueue('demo', '{cc,BB,aa,dd}', title => '"badge":2147483647', badge_add => 2, sound => 's')
            """
        )
        #expect(try await database.rows(Self.queue) == ["(aa,1)", "(aa,3)", "(bb,2)", "(cc,2)", "(dd,2)"])
        #expect(try await database.rows(Self.badges) == ["(aa,3)", "(bb,2)", "(cc,2)"])
        #expect(
            try await database.value("SELECT payloads[1] FROM carillon.messages WHERE cardinality(tokens) > 1")
                == #"{"aps":{"alert":{"title":"\"badge\":2147483647"},"badge":2,"sound":"s"}}"#
        )
    }

    @Test func `a number is never below 0 or above what Apple takes`() async throws {
        try await database.run(
            """
            \(Self.setUp)
            SELECT carillon.enqueue('demo', '{aa,dd}', badge_add => -3), carillon.enqueue('demo', '{bb}', badge_add => 2147483647);
            SELECT carillon.enqueue('demo', '{bb}', badge_add => 1)
            """
        )
        #expect(try await database.rows(Self.queue) == ["(aa,0)", "(dd,0)", "(bb,2147483647)", "(bb,2147483647)"])
    }

    @Test func `a broadcast counts for every registered token`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, badge) SELECT 1, lpad(i::text, 4, '0'), i FROM generate_series(1, 2500) i;
            SELECT carillon.broadcast('demo', 'x', badge_add => 1)
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT count(DISTINCT m.id), count(*), count(*) FILTER (WHERE (t.payload -> 'aps' ->> 'badge')::int = t.token::int + 1)
                FROM carillon.messages m, unnest(m.tokens, m.payloads) AS t(token, payload)
                """
            ) == ["(3,2500,2500)"]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens WHERE badge = token::int + 1") == "2500")
    }

    @Test func `a message that is not enqueued is not counted`() async throws {
        try await database.run(Self.setUp)
        let call = "carillon.enqueue('demo', '{aa}', 'x', badge_add => 1, dedupe_key => 'once')"
        #expect(try await database.value(call) != nil)
        #expect(try await database.value(call) == nil)
        let error = await database.refusal(
            of: "SELECT carillon.enqueue('demo', '{aa}', 'x', badge_add => 1, priority => 7)"
        )
        #expect(error?.sqlState == "22023")
        #expect(try await database.rows(Self.badges).first == "(aa,1)")
    }

    @Test func `a plain number leaves the counts alone`() async throws {
        try await database.run("\(Self.setUp) SELECT carillon.enqueue('demo', '{aa}', badge => 5)")
        #expect(try await database.rows(Self.badges).first == "(aa,0)")
    }

    @Test func `set_badge sets a token or all of an owner`() async throws {
        try await database.run(Self.setUp)
        #expect(try await database.value("carillon.set_badge('demo', owner => 'ann', badge => 4)") == "2")
        #expect(try await database.value("carillon.set_badge('demo', 'AA')") == "1")
        #expect(try await database.value("carillon.set_badge('demo', 'dd')") == "0")
        #expect(try await database.rows(Self.badges) == ["(aa,0)", "(bb,4)", "(cc,0)"])
    }

    @Test(arguments: [
        ("set_badge('demo')", "token"), ("set_badge('demo', 'aa', 'ann')", "token"),
        ("set_badge('demo', 'x')", "token"),
        ("set_badge('demo', 'aa', badge => -1)", "badge"),
        ("set_badge('no', 'aa')", "app"), ("enqueue('demo', '{aa}', badge => 1, badge_add => 1)", "badge_add"),
        ("enqueue('demo', '{aa}', badge_add => 1, payload => '{}')", "payload"),
        ("enqueue('demo', '{aa}', badge_add => 1, aps => '{\"badge\":2}')", "badge_add"),
        ("enqueue('demo', '{aa}', badge_add => 3000000000)", "badge_add"),
    ])
    func `an error names the argument`(call: String, argument: String) async throws {
        let error = await database.refusal(ofValue: "carillon.\(call)")
        #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(error?.message ?? "")")
    }

    @Test func `an app may count badges`() async throws {
        try await database.run(
            """
            \(Self.setUp) SET ROLE carillon_app;
            SELECT carillon.enqueue('demo', '{aa,bb}', 'x', badge_add => 1);
            SELECT carillon.set_badge('demo', 'bb', badge => 7); RESET ROLE
            """
        )
        #expect(try await database.rows(Self.badges) == ["(aa,1)", "(bb,7)", "(cc,0)"])
    }

    @Test func `callers that name tokens in different orders do not deadlock`() async throws {
        try await database.run(
            "INSERT INTO carillon.tokens (app_id, token) SELECT 1, lpad(i::text, 4, '0') FROM generate_series(1, 200) i"
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            for order in ["i", "-i", "i % 7", "random()"] {
                group.addTask {
                    try await database.session { session in
                        for _ in 0..<15 {
                            try await session.run(
                                """
                                SELECT carillon.enqueue('demo', array_agg(lpad(i::text, 4, '0') ORDER BY \(order)), badge_add => 1)
                                FROM generate_series(1, 200) i
                                """
                            )
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.rows("SELECT DISTINCT badge FROM carillon.tokens") == ["(60)"])
    }
}
