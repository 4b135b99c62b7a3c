import CarillonPostgres
import TestSupport
import Testing

/// What an app has a limited number of, added by several sessions at once.
@Suite(.demo) struct CountedLimitTests {
    /// What adds the last one that is allowed, what adds one more, and what the refusal says.
    private static let limits = [
        ("subscribe('demo', 'last')", "subscribe('demo', 'more')", "one of at most 100 names for an app"),
        ("add_webhook('last', 'demo', 'https://a.example/')", "subscribe('demo', 'more')", "one of at most 100 names"),
        (
            "subscribe('demo', 'last')", "add_webhook('more', 'demo', 'https://a.example/')",
            "an app with fewer than 100 consumers"
        ),
        ("request_channel('demo', 0, 'last')", "request_channel('demo', 0, 'more')", "fewer than 10000 channels"),
    ]

    private static let almostFull = """
        INSERT INTO carillon.subscriptions (app_id, consumer, mask) SELECT 1, 'c' || i, -1 FROM generate_series(1, 99) AS i;
        INSERT INTO carillon.channels (app_id, reference, policy) SELECT 1, 'c' || i, 0 FROM generate_series(1, 9999) AS i
        """

    @Test(arguments: limits)
    func `of two sessions that add the last one that an app may have, the second waits and is refused`(
        last: String,
        more: String,
        refusal: String
    ) async throws {
        try await database.run("\(Self.almostFull); BEGIN; SELECT carillon.\(last)")
        async let second: Void = database.session { try await $0.run("SELECT carillon.\(more)") }
        try await database.seesBlocked(more.prefix { $0 != "(" } + "%more")
        try await database.run("COMMIT")
        do {
            try await second
            Issue.record("the second was not refused")
        } catch let error as PostgresError {
            #expect(error.message.contains(refusal), "\(error.message)")
        }
    }

    /// Any login may create a collation in `pg_temp`.
    @Test func `names that a collation makes equal count as different`() async throws {
        try await database.run(
            """
            CREATE COLLATION pg_temp.loose (provider = icu, locale = 'und-u-ka-shifted-ks-level1', deterministic = false);
            SELECT carillon.subscribe('demo', repeat('-', i)) FROM generate_series(1, 100) AS i
            """
        )
        #expect(try await database.value(#"'-' = '--' COLLATE pg_temp.loose"#) == "true")
        let error = await database.refusal(
            of: "SELECT carillon.subscribe('demo', repeat('-', 101) COLLATE pg_temp.loose)"
        )
        #expect(error?.message.contains("one of at most 100 names for an app") == true, "\(error?.message ?? "")")
    }

    @Test func `a session whose snapshot is older than what others have added is told to try again`() async throws {
        try await database.session { older in
            try await older.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM carillon.subscriptions")
            try await database.run("SELECT carillon.subscribe('demo', 'one')")
            let error = await older.refusal(of: "SELECT carillon.subscribe('demo', 'two')")
            #expect(error?.sqlState == "40001")
        }
    }

    @Test
    func `a consumer that subscribes again, and a channel that is requested again, wait for nobody`() async throws {
        let again = "SELECT carillon.subscribe('demo', 'c'), carillon.request_channel('demo', 0, 'r')"
        try await database.run(again)
        try await database.session { other in
            try await other.run("BEGIN; SELECT carillon.subscribe('demo', 'd')")
            try await database.run("SET lock_timeout = '100ms'; \(again)")
        }
    }
}
