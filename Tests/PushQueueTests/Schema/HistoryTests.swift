import Postgres
import Testing

/// Results and failures by day: made ahead, dropped by retention, nothing lost in between.
@Suite struct HistoryTests {
    private static let partitions = """
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
        WHERE p.relname = 'results' ORDER BY 1
        """

    @Test func `today and three days ahead are there from the start, and rows go to their day`() async throws {
        try await SchemaDatabase.with { database async throws in
            let days = try await database.rows(
                "SELECT 'results_' || to_char((now() AT TIME ZONE 'UTC')::date + i, 'YYYYMMDD') FROM generate_series(0, 3) i"
            )
            #expect(try await database.rows(Self.partitions) == days + ["(results_default)"])
            try await database.run("INSERT INTO carillon.results (message_id, app_id, sent) VALUES (1, 1, 1)")
            #expect(
                try await database.rows(
                    "SELECT tableoid::regclass = 'carillon.results_default'::regclass FROM carillon.results"
                )
                    == ["(f)"]
            )
            #expect(try await database.rows("SELECT * FROM carillon.maintain()") == ["(0,0,0)"])
        }
    }

    @Test func `what came when its day was missing is moved to it, and what is old is dropped`() async throws {
        try await SchemaDatabase.with { database async throws in
            // As after a month in which nobody maintained.
            try await database.run(
                """
                DO $$ DECLARE t text; BEGIN
                    FOR t IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(results|failures)_2' LOOP
                        EXECUTE format('DROP TABLE carillon.%I', t);
                    END LOOP;
                END $$;
                INSERT INTO carillon.results (message_id, app_id, finished_at)
                SELECT i, 1, now() - i * interval '1 day' FROM generate_series(0, 20) i;
                INSERT INTO carillon.failures (message_id, app_id, token, reason, failed_at)
                SELECT i, 1, 'aa', 'x', now() - i * interval '1 day' FROM generate_series(0, 20) i
                """
            )
            #expect(try await database.rows("SELECT * FROM carillon.maintain()") == ["(8,0,28)"])
            #expect(try await database.value("SELECT count(*) FROM carillon.results") == "7")
            #expect(try await database.value("SELECT count(*) FROM carillon.results_default") == "6")
            #expect(
                try await database.value("SELECT carillon.make_partition('results', (now() - interval '2 days')::date)")
                    == "true"
            )
            #expect(try await database.value("SELECT count(*) FROM carillon.results") == "7")
            #expect(try await database.rows("SELECT partitions_dropped FROM carillon.maintain('1 day')") == ["(1)"])
            #expect(try await database.value("SELECT count(*) FROM carillon.failures") == "1")
        }
    }

    @Test func `a partition somebody reads stays until the next pass`() async throws {
        try await SchemaDatabase.with { database async throws in
            try await database.run(
                """
                SELECT carillon.make_partition('results', '2020-01-01');
                INSERT INTO carillon.results (message_id, app_id, finished_at) VALUES (1, 1, '2020-01-01T12:00Z')
                """
            )
            try await database.session { reader in
                try await reader.run("BEGIN; SELECT count(*) FROM carillon.results")
                #expect(try await database.rows("SELECT partitions_dropped FROM carillon.maintain()") == ["(0)"])
                try await reader.run("COMMIT")
            }
            #expect(try await database.rows("SELECT partitions_dropped FROM carillon.maintain()") == ["(1)"])
            #expect(try await database.value("SELECT count(*) FROM carillon.results") == "0")
        }
    }

    @Test func `what outlived the retention goes, and nothing else`() async throws {
        try await SchemaDatabase.with { database async throws in
            try await database.run(
                """
                INSERT INTO carillon.dedupe VALUES (1, 'old', 1, now() - interval '1 s'), (1, 'new', 2, now() + interval '1 h');
                INSERT INTO carillon.activity (minute, app_id, worker_id) VALUES (now() - interval '2 days', 1, 1), (now(), 1, 1);
                INSERT INTO carillon.feedback (app_id, token, unregistered_at, handled_at) VALUES
                    (1, 'aa', now(), now() - interval '8 days'), (1, 'bb', now(), now()), (1, 'cc', now(), NULL);
                INSERT INTO carillon.broadcasts (id, last_id, app_id, lane, jobs, tokens, created_at) VALUES
                    (1, 2, 1, 1, 2, 2000, now() - interval '8 days'), (3, 4, 1, 1, 2, 2000, now() - interval '8 days'),
                    (5, 6, 1, 1, 2, 2000, now());
                INSERT INTO carillon.results (message_id, app_id, broadcast_id) VALUES (3, 1, 3)
                """
            )
            #expect(try await database.rows("SELECT rows_deleted FROM carillon.maintain()") == ["(4)"])
            #expect(try await database.rows("SELECT key FROM carillon.dedupe") == ["(new)"])
            #expect(try await database.rows("SELECT token FROM carillon.feedback ORDER BY 1") == ["(bb)", "(cc)"])
            #expect(try await database.rows("SELECT id FROM carillon.broadcasts ORDER BY 1") == ["(3)", "(5)"])
        }
    }

    @Test func `a retention below an hour is refused`() async throws {
        try await SchemaDatabase.with { database async throws in
            for retention in ["'59 minutes'", "'-1 day'", "NULL"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.rows("SELECT * FROM carillon.maintain(\(retention))")
                }
                #expect(error?.sqlState == "22023")
            }
        }
    }
}
