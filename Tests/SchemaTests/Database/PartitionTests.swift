import CarillonPostgres
import TestSupport
import Testing

/// Partitions of results and failures: made ahead, dropped after the retention, without losing rows.
@Suite(.demo) struct PartitionTests {
    private static let partitions = """
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
        WHERE p.relname = 'results' ORDER BY 1
        """
    private static let days = """
        SELECT 'results_' || to_char((now() AT TIME ZONE 'UTC')::date + i, 'YYYYMMDD') FROM generate_series(0, 3) i
        """
    private static let faults =
        "SELECT action, target, last_error FROM carillon.maintenance WHERE last_failure IS NOT NULL"
    private static let oldPartition = """
        CREATE TABLE carillon.results_20200101 PARTITION OF carillon.results FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z');
        INSERT INTO carillon.results (message_id, app_id, finished_at) VALUES (1, 1, '2020-01-01T12:00Z')
        """

    private func maintain(_ database: TestDatabase, _ retention: String = "'7 days'") async throws {
        try await database.run("CALL carillon.maintain(\(retention))")
    }

    // MARK: Making

    @Test
    func `partitions of today and the next three days exist from the start, and rows go to their day`() async throws {
        let days = try await database.rows(Self.days)
        #expect(try await database.rows(Self.partitions) == days + ["(results_default)"])
        try await database.run("INSERT INTO carillon.results (message_id, app_id, sent) VALUES (1, 1, 1)")
        #expect(
            try await database.rows(
                "SELECT tableoid::regclass = 'carillon.results_default'::regclass FROM carillon.results"
            )
                == ["(f)"]
        )
        try await maintain(database)
        #expect(try await database.rows(Self.partitions) == days + ["(results_default)"])
    }

    @Test func `rows of a day without a partition do not move, and get a partition`() async throws {
        try await database.run(
            """
            \(TestDatabase.forgetPartitions);
            INSERT INTO carillon.results (message_id, app_id, finished_at)
            SELECT i, 1, now() - i * interval '1 day' FROM generate_series(0, 20) i;
            INSERT INTO carillon.failures (message_id, app_id, token, reason, failed_at)
            SELECT i, 1, 'aa', 'x', now() - i * interval '1 day' FROM generate_series(0, 20) i
            """
        )
        #expect(
            try await database.rows("SELECT * FROM carillon.default_partition_rows()")
                == ["(results,21)", "(failures,21)", "(failed_messages,0)", "(events,0)", "(sent_pushes,0)"]
        )
        try await maintain(database)
        #expect(try await database.rows(Self.faults) == [])
        for table in ["results", "failures"] {
            #expect(try await database.value("SELECT count(*) FROM carillon.\(table)") == "7")
            #expect(try await database.value("SELECT count(*) FROM carillon.\(table)_default") == "0")
        }
        let made = try await database.rows(Self.partitions)
        #expect(made.contains(try await database.rows(Self.days)[3]))
        // It is dropped when its last day is as old as that, and no earlier.
        try await maintain(database, "'1 day'")
        #expect(try await database.rows(Self.partitions) == made)
        try await database.run("INSERT INTO carillon.results (message_id, app_id) VALUES (99, 1)")
        #expect(try await database.value("SELECT count(*) FROM carillon.results_default") == "0")
    }

    /// A default partition that takes long to read is checked before it is locked.
    @Test(arguments: [false, true])
    func `rows of other days in the default partition do not keep partitions from being made, few or many`(
        areMany: Bool
    ) async throws {
        try await database.run(
            """
            \(TestDatabase.forgetPartitions);
            ALTER TABLE carillon.results_default SET (fillfactor = 10);
            INSERT INTO carillon.results (message_id, app_id) SELECT i, 1 FROM generate_series(1, \(areMany ? 60_000 : 10)) i;
            CREATE TABLE carillon.results_before PARTITION OF carillon.results
                FOR VALUES FROM ((now() - interval '5 days')::date) TO ((now() - interval '3 days')::date);
            INSERT INTO carillon.results (message_id, app_id, finished_at) VALUES (-1, 1, now() - interval '6 days'),
                (-2, 1, now() + interval '20 days'), (-3, 1, now() - interval '4 days'), (-4, 1, now() - interval '1 day')
            """
        )
        var calls = 1
        let step = "SELECT more FROM carillon.maintain_step('make', 'results')"
        while try await database.rows(step) == ["(t)"] { calls += 1 }
        // A CHECK that fails, and then all steps at once.
        #expect(calls == (areMany ? 2 : 1))
        #expect(try await database.rows(Self.faults) == [])
        #expect(
            try await database.rows("SELECT message_id FROM carillon.results_default ORDER BY 1") == ["(-2)", "(-1)"]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.results") == (areMany ? "60004" : "14"))
        let comment = try await database.value("SELECT obj_description('carillon.results_default'::regclass)")
        #expect(comment?.isEmpty == false)
        #expect(try await database.value("SELECT count(*) FROM pg_constraint WHERE conname LIKE 'days_up_to%'") == "0")
    }

    @Test func `a constraint left by a worker that died is removed`() async throws {
        try await database.run(
            """
            \(TestDatabase.forgetPartitions);
            ALTER TABLE carillon.results_default SET (fillfactor = 10);
            INSERT INTO carillon.results (message_id, app_id) SELECT i, 1 FROM generate_series(1, 60000) i;
            """
        )
        // It ends hours from now: nothing is refused meanwhile.
        #expect(try await database.rows("SELECT more FROM carillon.maintain_step('make', 'results')") == ["(t)"])
        try await database.run("INSERT INTO carillon.results (message_id, app_id) VALUES (0, 1)")
        #expect(
            try await database.value(
                """
                SELECT count(*) FROM pg_constraint WHERE conname LIKE 'days_up_to%'
                    AND to_date(right(conname, 8), 'YYYYMMDD') > (now() AT TIME ZONE 'UTC' + interval '2 hours')::date
                """
            ) == "1"
        )
        try await database.run(
            """
            DO $$ BEGIN EXECUTE (SELECT format('ALTER TABLE carillon.results_default RENAME CONSTRAINT %I TO '
                'days_up_to_20200101', c.conname) FROM pg_constraint c WHERE c.conname LIKE 'days_up_to%'); END $$
            """
        )
        try await maintain(database)
        #expect(try await database.rows(Self.faults) == [])
        #expect(try await database.value("SELECT count(*) FROM pg_constraint WHERE conname LIKE 'days_up_to%'") == "0")
        #expect(try await database.value("SELECT count(*) FROM carillon.results_default") == "0")
        #expect(try await database.value("SELECT count(*) FROM carillon.results") == "60001")
    }

    @Test(arguments: [false, true])
    func `columns, indexes and constraints that users add to results do not keep partitions from being made`(
        hasRows: Bool
    ) async throws {
        try await database.run(
            """
            CREATE TABLE audit (message_id bigint);
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO public.audit VALUES (NEW.message_id); RETURN NEW; END $$;
            ALTER TABLE carillon.results ADD CONSTRAINT mine CHECK (message_id > 0) NOT VALID,
                ADD COLUMN region text DEFAULT 'eu', ADD COLUMN pushes integer GENERATED ALWAYS AS (sent + failed) STORED;
            CREATE INDEX ON carillon.results (region);
            CREATE UNIQUE INDEX ON carillon.results (message_id, finished_at);
            CREATE TRIGGER note AFTER INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION note();
            \(TestDatabase.forgetPartitions);
            \(hasRows ? "INSERT INTO carillon.results (message_id, app_id) VALUES (1, 1);" : "")
            """
        )
        try await maintain(database)
        #expect(try await database.rows(Self.faults) == [])
        #expect(try await database.value(TestDatabase.coveredDays) == "4")
        let made = Set(try await database.rows(Self.partitions))
        #expect(made.isSubset(of: try await database.rows(Self.days) + ["(results_default)"]), "\(made)")
        try await database.run("INSERT INTO carillon.results (message_id, app_id) VALUES (2, 1)")
        #expect(try await database.value("SELECT count(*) FROM audit") == (hasRows ? "2" : "1"))
        let error = await database.refusal(of: "INSERT INTO carillon.results (message_id, app_id) VALUES (-2, 1)")
        #expect(error?.constraint == "mine")
    }

    @Test func `partitions are days of UTC, whatever the settings of date style and time zone`() async throws {
        try await database.run(
            """
            \(TestDatabase.forgetPartitions);
            INSERT INTO carillon.results (message_id, app_id) VALUES (1, 1);
            SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Kolkata'
            """
        )
        try await maintain(database)
        #expect(try await database.rows(Self.faults) == [])
        #expect(try await database.value(TestDatabase.coveredDays) == "4")
        let made = Set(try await database.rows(Self.partitions))
        #expect(made.isSubset(of: try await database.rows(Self.days) + ["(results_default)"]), "\(made)")
    }

    // MARK: Dropping and deleting

    @Test func `a partition that is being read stays until the next pass, and all other steps are done`() async throws {
        try await database.run(Self.oldPartition)
        try await database.run("INSERT INTO carillon.dedupe VALUES (1, 'old', 1, now() - interval '1 s')")
        try await database.session { reader in
            try await reader.run("BEGIN; SELECT count(*) FROM carillon.results")
            try await maintain(database)
            #expect(
                try await database.rows(Self.faults)
                    == ["(drop,results,\"results_20200101 is not dropped yet: results is in use\")"]
            )
            #expect(try await database.value("SELECT count(*) FROM carillon.dedupe") == "0")
            try await reader.run("COMMIT")
        }
        try await maintain(database)
        #expect(try await database.value("SELECT count(*) FROM carillon.results") == "0")
        #expect(
            try await database.rows("SELECT target FROM carillon.maintenance WHERE last_failure > last_success") == []
        )
    }

    @Test func `a view on an old partition keeps that partition, and no other`() async throws {
        try await database.run(
            """
            \(Self.oldPartition);
            CREATE TABLE carillon.results_20200102 PARTITION OF carillon.results
                FOR VALUES FROM ('2020-01-02Z') TO ('2020-01-03Z');
            CREATE VIEW mine AS SELECT * FROM carillon.results_20200101
            """
        )
        try await maintain(database)
        let left = try await database.rows(Self.partitions)
        #expect(left.contains("(results_20200101)") && !left.contains("(results_20200102)"))
        #expect(try await database.rows(Self.faults).first?.contains("other objects depend on it") == true)
    }

    @Test func `rows older than the retention are deleted, and no others`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.dedupe VALUES (1, 'old', 1, now() - interval '1 s'), (1, 'new', 2, now() + interval '1 h');
            INSERT INTO carillon.push_counts (minute, app_id, worker_id) VALUES (now() - interval '2 days', 1, 1), (now(), 1, 1);
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, handled_at) VALUES
                (1, 'aa', now(), now() - interval '8 days'), (1, 'bb', now(), now()), (1, 'cc', now(), NULL);
            INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens, created_at) VALUES
                (1, 2, 1, 1, 2, 2000, now() - interval '8 days'), (3, 4, 1, 1, 2, 2000, now() - interval '8 days'),
                (5, 6, 1, 1, 2, 2000, now());
            INSERT INTO carillon.results (message_id, app_id, broadcast_id) VALUES (3, 1, 3);
            INSERT INTO carillon.cancelled VALUES (1, 1, now() - interval '8 days'), (1, 2, now() - interval '6 days');
            INSERT INTO carillon.updates (app_id, token, message_id, is_end, due_at) VALUES
                (1, 'old', 1, false, now() - interval '8 days'), (1, 'new', 2, false, now() - interval '6 days');
            INSERT INTO carillon.update_stamps (app_id, token, message_id, is_final, due_at, highest, stamp) VALUES
                (1, 'old', 1, false, now() - interval '8 days', 1, 1), (1, 'new', 2, false, now() - interval '6 days', 2, 1);
            INSERT INTO carillon.device_slots (app_id, token, slots, last_at) VALUES
                (1, 'old', '{}', now() - interval '2 h'), (1, 'new', '{}', now());
            INSERT INTO carillon.audit (source, action, at) VALUES
                ('test', 'old', now() - interval '2 years'), ('test', 'new', now() - interval '30 days')
            """
        )
        try await maintain(database)
        #expect(try await database.rows(Self.faults) == [])
        #expect(try await database.rows("SELECT key FROM carillon.dedupe") == ["(new)"])
        #expect(try await database.value("SELECT count(*) FROM carillon.push_counts") == "1")
        #expect(try await database.rows("SELECT token FROM carillon.feedback ORDER BY 1") == ["(bb)", "(cc)"])
        #expect(try await database.rows("SELECT id FROM carillon.split_messages ORDER BY 1") == ["(3)", "(5)"])
        #expect(try await database.rows("SELECT message_id FROM carillon.cancelled") == ["(2)"])
        for table in ["updates", "update_stamps", "device_slots"] {
            #expect(try await database.rows("SELECT token FROM carillon.\(table)") == ["(new)"], "\(table)")
        }
        #expect(try await database.rows("SELECT action FROM carillon.audit WHERE source = 'test'") == ["(new)"])
    }

    @Test func `several batches are deleted, except for a row that is locked`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.dedupe SELECT 1, 'k' || i, i, now() - interval '1 s' FROM generate_series(1, 25000) i
            """
        )
        try await database.session { holder in
            try await holder.run("BEGIN; SELECT FROM carillon.dedupe WHERE key = 'k7' FOR UPDATE")
            try await maintain(database)
            #expect(try await database.rows(Self.faults) == [])
            #expect(try await database.rows("SELECT key FROM carillon.dedupe") == ["(k7)"])
            try await holder.run("COMMIT")
        }
    }

    @Test func `a step that fails reports its error, and does not stop the others`() async throws {
        try await database.run(
            """
            CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ASSERT false, 'keep it'; END $$;
            CREATE TRIGGER mine BEFORE DELETE ON carillon.dedupe FOR EACH ROW EXECUTE FUNCTION mine();
            INSERT INTO carillon.dedupe VALUES (1, 'old', 1, now() - interval '1 s');
            INSERT INTO carillon.cancelled (app_id, message_id, cancelled_at) VALUES (1, 1, now() - interval '8 days');
            \(Self.oldPartition)
            """
        )
        try await database.session { holder in
            try await holder.run("BEGIN; LOCK TABLE carillon.split_messages")
            try await maintain(database)
            try await holder.run("COMMIT")
        }
        #expect(
            try await database.rows(Self.faults) == [
                "(delete,dedupe,\"keep it\")",
                "(delete,split_messages,\"canceling statement due to lock timeout\")",
            ]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.cancelled") == "0")
        #expect(try await database.value("SELECT count(*) FROM carillon.results") == "0")
    }

    /// That of the workers, that of the call, and the days that are kept.
    private static let retentions: [(String?, String?, Int)] = [
        (nil, nil, 7), ("30 days", nil, 30), ("2 days", nil, 2), ("30 days", "3 days", 3),
    ]

    @Test(arguments: Self.retentions)
    func `without a retention of its own, maintenance has that of the workers, or seven days`(
        _ workers: String?,
        _ own: String?,
        _ days: Int
    ) async throws {
        func text(_ interval: String?) -> String { interval.map { "'\($0)'" } ?? "NULL" }
        try await database.run(
            """
            UPDATE carillon.fleet_tasks SET retention = \(text(workers)) WHERE name = 'maintain';
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, handled_at)
            SELECT 1, n::text, now(), now() - (n * 24 - 12) * interval '1 hour' FROM generate_series(1, 40) n
            """
        )
        try await maintain(database, own.map { "'\($0)'" } ?? "")
        #expect(try await database.number("SELECT max(token::int) FROM carillon.feedback") == days)
        try await maintain(database, text(own))
        #expect(try await database.number("SELECT count(*) FROM carillon.feedback") == days)
    }

    @Test func `a retention below an hour is refused`() async throws {
        for retention in ["'59 minutes'", "'-1 day'"] {
            let error = await #expect(throws: PostgresError.self) { try await maintain(database, retention) }
            #expect(error?.sqlState == "22023")
        }
    }
}
