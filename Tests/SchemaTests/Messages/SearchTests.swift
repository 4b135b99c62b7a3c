import TestSupport
import Testing

/// What pages of the dashboard ask of a long queue and of many apps reads few rows, and finds what is new.
@Suite(.demo) struct SearchTests {
    /// Sixty apps with so many jobs each that reading all of them would be seen.
    private static let crowd = """
        INSERT INTO carillon.apps (name) SELECT 'app ' || n FROM generate_series(2, 60) n;
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, reference)
        SELECT a.id, n % 3, '{aa}', '{}', 'old ' || n FROM generate_series(1, 600) n, carillon.apps a;
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, reference, run_at)
        SELECT nextval('carillon.messages_id_seq'), a.id, '{aa}', '{}', 'later ' || n, now() + interval '1 day'
        FROM generate_series(1, 600) n, carillon.apps a;
        INSERT INTO carillon.unfinished (app_id, message_id, reference, remaining)
        SELECT a.id, n, 'begun ' || n, 1 FROM generate_series(1, 600) n, carillon.apps a;
        INSERT INTO carillon.failures (message_id, app_id, token, reason, failed_at)
        SELECT n, a.id, 'aa', 'Unregistered', now() - n * interval '1 second' FROM generate_series(1, 600) n, carillon.apps a;
        INSERT INTO carillon.feedback (app_id, token, unregistered_at)
        SELECT a.id, 'aa', now() FROM generate_series(1, 600) n, carillon.apps a;
        ANALYZE carillon.messages; ANALYZE carillon.scheduled; ANALYZE carillon.unfinished; ANALYZE carillon.failures;
        ANALYZE carillon.feedback
        """

    /// Rows that a statement reads of a table, by whatever way.
    private func reads(_ table: String, _ database: TestDatabase, _ sql: String) async throws -> Int {
        let rows = """
            SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid)), 0)::int
            FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind = 'r'
                AND (c.relname = '\(table)' OR c.relname ~ '^\(table)_[0-9]')
            """
        try await database.run("BEGIN")
        let before = try await database.number(rows)
        try await database.run(sql)
        let after = try await database.number(rows)
        try await database.run("COMMIT")
        return after - before
    }

    @Test(arguments: [
        "search_reference('nothing')", "search_token('bb')", "search_owner('nobody')", "trace('demo', 'nobody')",
        "trace('demo', token => 'bb')",
        "trace('demo', reference => 'nothing')", "trace('demo', message_id => 600)",
    ])
    func `a search reads few rows of each table, however many apps and jobs there are`(call: String) async throws {
        try await database.run(Self.crowd)
        for table in ["messages", "scheduled", "unfinished", "failures", "feedback"] {
            let rows = try await reads(table, database, "SELECT * FROM carillon.\(call)")
            #expect(rows < 7_000, "\(call) read \(rows) rows of \(table)")
        }
    }

    @Test func `a search finds the newest of each app and lane`() async throws {
        try await database.run(Self.crowd)
        for lane in 0...2 {
            try await database.run(
                """
                INSERT INTO carillon.messages (app_id, lane, tokens, payload, reference)
                SELECT 5, \(lane), '{cc}', '{}', CASE n WHEN 1 THEN 'new \(lane)' END FROM generate_series(1, 20) n
                """
            )
            #expect(try await database.rows("SELECT app FROM carillon.search_reference('new \(lane)')").count == 1)
        }
        #expect(
            try await database.rows("SELECT app FROM carillon.search_token('cc')") == [#"("app 5")"#]
        )
        #expect(try await database.rows("SELECT 1 FROM carillon.search_reference('later 600')").count == 50)
    }

    @Test func `a token or an owner is found in each app that knows it, dead or not`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) SELECT 'app ' || n FROM generate_series(2, 8) n;
            INSERT INTO carillon.tokens (app_id, token, owner, last_update) VALUES
                (1, 'aa', 'u-42', now() - interval '3 days'), (3, 'ab', 'u-42', now()), (4, 'ac', 'u-7', now());
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES
                (1, 'AA', now() - interval '2 days'), (5, 'aa', now());
            INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (1, 6, 'AA', 'Unregistered');
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (2, 7, '{bb,aa}', '{}', now());
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT 1, 8, ARRAY[json_populate_record(NULL::carillon.job, '{"id": 3, "tokens": ["aa"]}')];
            SELECT carillon.reap('demo')
            """
        )
        #expect(try await database.number("SELECT count(*) FROM carillon.tokens WHERE app_id = 1") == 0)
        func apps(_ call: String) async throws -> String? {
            try await database.value("(SELECT string_agg(app, ', ') FROM carillon.\(call))")
        }
        #expect(try await apps("search_owner('u-42')") == "app 3, demo")
        #expect(try await apps("search_token('aa')") == "app 5, app 6, app 7, app 8, demo")
        for call in ["search_owner('u-4')", "search_token('cc')", "search_owner(NULL)", "search_token(NULL)"] {
            #expect(try await apps(call) == nil, "\(call)")
        }
    }

    @Test func `a search of one app reads as deep as it is told`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, reference)
            SELECT 1, '{aa}', '{}', 'order ' || n FROM generate_series(1, 3000) n
            """
        )
        let found = "SELECT count(*) FROM carillon.search_reference('order 2000'"
        #expect(try await database.value("\(found))") == "1")
        #expect(try await database.value("\(found), max_rows_read => 300)") == "0")
    }

    @Test func `the tokens of many apps are counted up to fewer`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) SELECT 'app ' || n FROM generate_series(2, 100) n;
            INSERT INTO carillon.tokens (app_id, token)
            SELECT a.id, lpad(to_hex(n), 8, '0') FROM generate_series(1, 300) n, carillon.apps a;
            INSERT INTO carillon.tokens (app_id, token) SELECT 101, lpad(to_hex(n), 8, '0') FROM generate_series(1, 90) n;
            INSERT INTO carillon.apps (id, name) VALUES (101, 'small');
            ANALYZE carillon.tokens
            """
        )
        let rows = try await reads("tokens", database, "SELECT * FROM carillon.token_counts()")
        #expect(rows < 25_000)
        #expect(
            try await database.rows(
                """
                    SELECT DISTINCT tokens_precision, tokens BETWEEN 198 AND 600 FROM carillon.token_counts(101)
                    WHERE app <> 'small'
                """
            ) == ["(about,t)"]
        )
        let small = "SELECT tokens, tokens_precision FROM carillon.token_counts(101) WHERE app = 'small'"
        #expect(try await database.rows(small) == ["(90,exact)"])
    }

    @Test func `a retry that is due is known to be one, even if it is not among the rows that are read`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.unfinished (app_id, message_id, remaining) VALUES (1, 1, 1);
            SELECT setval('carillon.messages_id_seq', 10);
            INSERT INTO carillon.messages (app_id, tokens, payload, attempt, origin, last_status, last_reason)
            VALUES (1, '{aa}', '{}', 2, 1, 503, 'ServiceUnavailable');
            INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 1, '{aa}', '{}' FROM generate_series(1, 20000) n;
            ANALYZE carillon.messages
            """
        )
        let status = "SELECT state, waiting, last_reason FROM carillon.message_status(1"
        #expect(try await database.rows("\(status))") == ["(retrying,1,ServiceUnavailable)"])
        #expect(try await database.rows("\(status), max_rows_read => 50)") == ["(retrying,1,)"])
        let rows = try await reads("messages", database, "\(status), max_rows_read => 50)")
        #expect(rows < 500, "\(rows) rows")
        #expect(try await database.rows("\(status), max_rows_read => 30000)") == ["(retrying,1,ServiceUnavailable)"])
    }

    @Test func `the state of a broadcast does not read the tokens of its jobs`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token) SELECT 1, lpad(to_hex(n), 64, '0') FROM generate_series(1, 150000) n
            """
        )
        let id = try #require(try await database.value("carillon.broadcast('demo', 'hi')"))
        let status = "SELECT state, tokens, waiting, jsonb_array_length(outcomes) FROM carillon.message_status(\(id))"
        #expect(try await database.rows(status) == ["(ready,150000,150000,1000)"])
        let blocks = try await database.blocksOfLongValues(in: "messages", readBy: status)
        // Those of the first job, for the outcomes, and no more of 150.
        #expect(blocks < 150, "\(blocks) blocks")
    }

    @Test func `the progress of a broadcast whose app is named looks at no other app`() async throws {
        try await database.run(Self.crowd)
        try await database.run(
            """
            INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens) VALUES (1, 1000001, 1000002, 1, 2, 2000);
            INSERT INTO carillon.results (app_id, message_id, broadcast_id, sent) VALUES (1, 1000001, 1000001, 1000)
            """
        )
        let progress = "SELECT sent, waiting FROM carillon.broadcast_progress(1000001, 'demo')"
        #expect(try await database.rows(progress) == ["(1000,1000)"])
        #expect(try await reads("scheduled", database, progress) == 0)
    }
}
