import CarillonPostgres
import TestSupport
import Testing

/// The pass itself: in batches, beside everybody else.
@Suite(.demo) struct ReapTests {
    private static let many = """
        INSERT INTO carillon.tokens
        SELECT 1, lpad(to_hex(i), 8, '0'), '2020-01-01Z' FROM generate_series(1, 100) i;
        INSERT INTO carillon.feedback (app_id, token, unregistered_at)
        SELECT 1, token, '2020-01-02Z' FROM carillon.tokens
        """

    private static let waiting = "SELECT count(*) FROM carillon.feedback WHERE handled_at IS NULL"
    private static let rowsReadInOrder = """
        SELECT sum(s.seq_tup_read) FROM pg_stat_xact_user_tables s WHERE s.relname IN ('tokens', 'devices', 'feedback')
        """
    private static let left = "SELECT count(*) FROM carillon.tokens"

    @Test func `a batch has a limit, and says where the next begins`() async throws {
        try await database.run(
            "INSERT INTO carillon.apps (name) VALUES ('other'); \(Self.many);"
                + "INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (2, 'aa', now())"
        )
        let batch = "SELECT state, next, of_app, handled, deleted FROM carillon.reap_batch"
        #expect(try await database.rows("\(batch)()") == [#"(more,"(,1,100)",demo,100,100)"#])
        #expect(
            try await database.rows("\(batch)(after => '(,1,100)')")
                == [#"(more,"(,2,101)",other,1,0)"#]
        )
        #expect(try await database.rows("SELECT state FROM carillon.reap_batch(after => '(,2,101)')") == ["(over)"])
        #expect(try await database.value(Self.waiting) == "0")
    }

    @Test func `a pass that commits after each batch deletes the same`() async throws {
        try await database.run(Self.many)
        try await database.run("CALL carillon.reap_all('demo')")
        #expect(try await database.value(Self.left) == "0")
        #expect(try await database.value(Self.waiting) == "0")
        try await database.run("CALL carillon.reap_all()")
    }

    @Test func `a batch says when another pass is running`() async throws {
        try await database.run(Self.many)
        try await database.session { other in
            try await other.run("BEGIN; SELECT carillon.reap()")
            #expect(try await database.rows("SELECT state, deleted FROM carillon.reap_batch()") == ["(busy,0)"])
            try await other.run("ROLLBACK")
        }
        #expect(try await database.rows("SELECT state, deleted FROM carillon.reap_batch()") == ["(more,100)"])
    }

    @Test func `a token that is being registered is skipped, and judged after the commit`() async throws {
        try await database.run(Self.many)
        for (end, tokens) in [("ROLLBACK", "0"), ("COMMIT", "1")] {
            if end == "COMMIT" {
                try await database.run("DELETE FROM carillon.feedback; DELETE FROM carillon.tokens; \(Self.many)")
            }
            try await database.session { other in
                try await other.run("BEGIN; SELECT carillon.register_token('demo', '00000007')")
                #expect(try await database.value("carillon.reap()") == "99")
                #expect(try await database.rows("SELECT token FROM carillon.tokens") == ["(00000007)"])
                #expect(try await database.value(Self.waiting) == "1")
                try await other.run(end)
            }
            _ = try await database.value("carillon.reap()")
            #expect(try await database.value(Self.left) == tokens)
            #expect(try await database.value(Self.waiting) == "0")
        }
    }

    @Test func `a report keeps the owner of the token that was deleted because of it`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update, owner) VALUES
                (1, 'aa', '2020-01-01Z', 'u-42'), (1, 'bb', '2020-01-01Z', NULL), (1, 'cc', now(), 'u-7');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at)
            SELECT 1, t, '2020-01-02Z' FROM unnest('{AA,bb,cc,dd}'::text[]) t;
            SELECT carillon.reap()
            """
        )
        let reports = "SELECT token, owner FROM carillon.feedback WHERE handled_at IS NOT NULL ORDER BY id"
        #expect(try await database.rows(reports) == ["(AA,u-42)", "(bb,)", "(cc,)", "(dd,)"])
    }

    @Test func `a registration that waits for a batch is newer than what the batch deletes`() async throws {
        try await database.run(Self.many)
        try await database.session { other in
            try await other.run("BEGIN; SELECT carillon.reap_batch()")
            async let registration = database.value("carillon.register_token('demo', '00000007')")
            try await other.seesBlocked("register_token")
            try await other.run("COMMIT")
            _ = try await registration
        }
        #expect(try await database.rows("SELECT token FROM carillon.tokens") == ["(00000007)"])
    }

    @Test func `the preview counts dead tokens by table, and deletes none`() async throws {
        try await database.run(
            """
            \(Self.many);
            INSERT INTO carillon.apps (name) VALUES ('other');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at)
            SELECT 1, upper(token), '2020-01-02Z' FROM carillon.tokens;
            UPDATE carillon.tokens SET last_update = '2020-01-02Z' WHERE token < '00000011';
            CREATE TABLE devices (token text, updated timestamptz);
            CREATE TABLE broken (token text, updated timestamptz);
            GRANT SELECT, DELETE ON devices, broken TO carillon_reaper;
            INSERT INTO devices SELECT token, last_update FROM carillon.tokens ORDER BY token LIMIT 40;
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated');
            SELECT carillon.watch_tokens('demo', 'broken', 'token', 'updated');
            ALTER TABLE broken DROP token
            """
        )
        #expect(
            try await database.rows(
                "SELECT of_app, relation, tokens, fault LIKE '%takes the name of a column%' FROM carillon.reapable()"
            ) == [
                "(demo,carillon.tokens,84,)", "(demo,public.devices,24,)", "(demo,public.broken,,t)",
                "(other,carillon.tokens,0,)",
            ]
        )
        #expect(try await database.rows("SELECT of_app FROM carillon.reapable('other')") == ["(other)"])
        #expect(try await database.value(Self.left) == "100")
        #expect(try await database.value("carillon.reap()") == "108")
    }

    @Test func `a batch uses its indexes and those of watched tables`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens
            SELECT 1, lpad(to_hex(i), 64, '0'), '2020-01-01Z' FROM generate_series(1, 50000) i;
            CREATE TABLE devices AS SELECT gen_random_uuid() AS id, token, last_update AS seen FROM carillon.tokens;
            GRANT SELECT, DELETE ON devices TO carillon_reaper;
            CREATE INDEX ON devices (token);
            INSERT INTO carillon.feedback (app_id, token, unregistered_at)
            SELECT 1, token, now() FROM carillon.tokens WHERE token < lpad(to_hex(2000), 64, '0');
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'seen')
            """
        )
        for analyzed in [false, true] {
            if analyzed { try await database.run("ANALYZE") }
            try await database.run("BEGIN")
            // What the transactions before have read may be counted yet.
            let before = try await database.value(Self.rowsReadInOrder)
            #expect(try await database.value("SELECT deleted FROM carillon.reap_batch(max_rows => 500)") == "1000")
            let after = try await database.value(Self.rowsReadInOrder)
            #expect(after == before, "rows were read without an index, analyzed: \(analyzed)")
            try await database.run("COMMIT")
        }
    }
}
