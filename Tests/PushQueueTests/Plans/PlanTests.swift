import TestSupport
import Testing

/// Plans that cannot go wrong: whatever the planner knows of the tables, it walks the primary key.
@Suite(.demo) struct PlanTests {
    private static let claim = """
        DELETE FROM carillon.messages m WHERE m.ctid = ANY (ARRAY(
            SELECT s.ctid FROM carillon.messages s WHERE s.app_id = 1 AND s.lane = 1 AND s.id >= 0
            ORDER BY s.id LIMIT 500 FOR UPDATE SKIP LOCKED)) RETURNING m.*
        """

    private static let queries = [
        ("a claim", claim, ["Tid Scan on messages m", "Index Scan using messages_pkey on messages s"]),
        (
            "the oldest of a lane",
            "SELECT id FROM carillon.messages WHERE app_id = 1 AND lane = 1 ORDER BY id LIMIT 1",
            ["using messages_pkey"]
        ),
        (
            "the next lane",
            "SELECT app_id, lane FROM carillon.messages WHERE (app_id, lane) > (1, 1::smallint) ORDER BY app_id, lane LIMIT 1",
            ["using messages_pkey"]
        ),
        (
            "what is due", "SELECT id FROM carillon.scheduled WHERE run_at <= now() ORDER BY run_at LIMIT 500",
            ["using scheduled_by_time"]
        ),
        (
            "an app's tokens",
            "SELECT token FROM carillon.tokens WHERE app_id = 1 AND token > 'aa' ORDER BY token LIMIT 1000",
            ["using tokens_pkey"]
        ),
    ]

    private static func check(_ database: TestDatabase, _ when: String) async throws {
        for (name, query, expected) in queries {
            let plan = try await database.plan(query)
            for line in expected { #expect(plan.contains(line), "\(name), \(when):\n\(plan)") }
            #expect(!plan.contains("Seq Scan"), "\(name), \(when):\n\(plan)")
        }
    }

    private static let rows = """
        INSERT INTO carillon.messages (app_id, lane, tokens, payload)
        SELECT CASE WHEN i % 100 = 0 THEN i % 7 ELSE 1 END, 1, '{aa}', '{}' FROM generate_series(1, 50000) i;
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
        SELECT nextval('carillon.messages_id_seq'), 1, '{aa}', '{}', now() + i * interval '1 s'
        FROM generate_series(-20000, 0) i;
        INSERT INTO carillon.tokens (app_id, token) SELECT 1, lpad(to_hex(i), 8, '0') FROM generate_series(1, 20000) i
        """

    @Test func `claims and fleet tasks use their index on full and emptied tables, analyzed or not`() async throws {
        // As every worker does: a plan made for an empty table must still be right when it is full.
        try await database.run("SET enable_seqscan = off; SET enable_bitmapscan = off")
        try await Self.check(database, "empty")
        try await database.run(Self.rows)
        try await Self.check(database, "full, never analyzed")
        try await database.run("ANALYZE carillon.messages; ANALYZE carillon.scheduled; ANALYZE carillon.tokens")
        try await Self.check(database, "full, analyzed")
        try await database.run(
            "DELETE FROM carillon.messages; DELETE FROM carillon.scheduled; DELETE FROM carillon.tokens"
        )
        try await Self.check(database, "emptied, statistics of a full table")
        try await database.run("VACUUM ANALYZE carillon.messages")
        try await database.run("VACUUM ANALYZE carillon.scheduled")
        try await database.run("VACUUM ANALYZE carillon.tokens")
        try await Self.check(database, "emptied, analyzed empty")
        try await database.run(Self.rows)
        try await Self.check(database, "full again, statistics of an empty table")
    }

    @Test func `an insert writes one index, and no trigger fires for its rows`() async throws {
        let oid = "'carillon.messages'::regclass"
        #expect(try await database.value("SELECT count(*) FROM pg_index WHERE indrelid = \(oid)") == "1")
        // Of triggers, there is one for the statement, which looks whether workers sleep.
        let triggers = "SELECT tgname, tgtype & 1 AS is_for_rows FROM pg_trigger WHERE tgrelid = \(oid)"
        #expect(try await database.rows(triggers) == ["(wake_sleepers,0)"])
        #expect(
            try await database.value(
                "SELECT count(*) FROM pg_constraint WHERE conrelid = \(oid) AND contype NOT IN ('p', 'n', 'c')"
            ) == "0"
        )
    }
}
