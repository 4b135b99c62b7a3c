import ApplePushSimulator
import TestSupport
import Testing

/// What users add to our tables: triggers, constraints, publications.
@Suite struct UserAdditionCases {
    private static func answers(_ configuration: inout SimulatorConfiguration) throws {
        configuration.answers = [
            try AnswerRule(parsing: "dead=410:Unregistered"), try AnswerRule(parsing: "bad=400:BadTopic"),
        ]
    }

    /// Messages of each kind: sent, dead, failed, and split.
    private static func enqueue(in scene: Scene) async throws {
        try await scene.enqueue(300)
        try await scene.enqueue(20, prefix: "dead")
        try await scene.enqueue(20, prefix: "bad")
        try await scene.enqueue(3, tokens: 1500)
    }

    @Test func `D28: triggers that do not qualify their table names work`() async throws {
        try await Scene.with({ try Self.answers(&$0) }) { scene in
            try await scene.client.run(
                """
                CREATE TABLE audit (relation text, message_id bigint);
                GRANT INSERT ON audit TO carillon_worker;
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN INSERT INTO audit VALUES (TG_ARGV[0], NEW.message_id); RETURN NEW; END $$;
                CREATE TRIGGER note AFTER INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION note('results');
                CREATE TRIGGER note AFTER INSERT ON carillon.failures FOR EACH ROW EXECUTE FUNCTION note('failures')
                """
            )
            try await Self.enqueue(in: scene)
            let worker = try scene.fleet.start(["--max-in-flight", "1000"], lease: Fleet.calm)
            try await scene.drained()
            for table in ["results", "failures"] {
                #expect(
                    try await scene.client.number("SELECT count(*) FROM audit WHERE relation = '\(table)'")
                        == scene.client.number("SELECT count(*) FROM carillon.\(table)")
                )
            }
            #expect(worker.lines(containing: "A statement failed").isEmpty)
            try await scene.finish()
        }
    }

    @Test
    func `D29: an error in a trigger costs the record of that one message, and delays nothing`() async throws {
        try await Scene.with({ try Self.answers(&$0) }) { scene in
            let states = [
                "0A000", "21000", "22012", "23514", "28000", "34000", "38000", "42501", "42601", "42P01", "44000",
                "54000",
                "55000", "P0001", "P0004", "XX000", "U0001",
            ]
            try await Self.enqueue(in: scene)
            try await scene.client.run(
                """
                CREATE TABLE names AS SELECT m.id, m.reference,
                    row_number() OVER (ORDER BY m.id) AS number FROM carillon.messages m WHERE cardinality(m.tokens) = 1;
                GRANT SELECT ON names TO carillon_worker;
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                DECLARE number integer := (SELECT n.number FROM names n WHERE n.id = NEW.message_id AND n.number <= \(states.count));
                BEGIN
                    IF number IS NOT NULL THEN
                        RAISE EXCEPTION 'not this one' USING ERRCODE = ('{\(states.joined(separator: ","))}'::text[])[number];
                    END IF;
                    RETURN NEW;
                END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION refuse()
                """
            )
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.drained()
            #expect(
                try await scene.client.number(
                    "SELECT count(*) FROM carillon.failures f WHERE f.reason = 'Unrecorded' AND f.status = 200"
                ) == states.count
            )
            #expect(Int(try await worker.metric("carillon_unrecorded_jobs_total")) == states.count)
            // As an operator would repair it.
            try await scene.client.run(
                """
                DROP TRIGGER refuse ON carillon.results;
                INSERT INTO carillon.results (message_id, app_id, reference, sent)
                SELECT f.message_id, f.app_id, n.reference, 1 FROM carillon.failures f JOIN names n ON n.id = f.message_id
                WHERE f.reason = 'Unrecorded';
                DELETE FROM carillon.failures WHERE reason = 'Unrecorded'
                """
            )
            try await scene.finish()
        }
    }

    @Test func `D30: a publication for all tables stops neither the queue nor maintenance`() async throws {
        try await Scene.with({ try Self.answers(&$0) }) { scene in
            try await scene.client.run(
                """
                CREATE PUBLICATION everything FOR ALL TABLES;
                INSERT INTO carillon.failures (message_id, app_id, token, reason, failed_at)
                SELECT -i, 1, 'aa', 'x', now() - interval '20 days' FROM generate_series(1, 100) i;
                INSERT INTO carillon.results (message_id, app_id, finished_at)
                SELECT -i, 1, now() - interval '20 days' FROM generate_series(1, 100) i
                """
            )
            try await Self.enqueue(in: scene)
            let worker = try await scene.fleet.started(["--log-level", "debug"], lease: Fleet.calm)
            try await worker.says("Maintenance has succeeded.")
            #expect(worker.lines(containing: "A maintenance step failed").isEmpty)
            #expect(worker.lines(containing: "A statement failed").isEmpty)
            try await scene.finish()
        }
    }

    @Test(.scene)
    func `D31: users' constraints, columns and indexes on results do not prevent new partitions`() async throws {
        try await scene.client.run(
            """
            ALTER TABLE carillon.results ADD CONSTRAINT mine CHECK (sent >= 0), ADD COLUMN region text DEFAULT 'eu';
            CREATE INDEX ON carillon.results (region, finished_at);
            DO $$ DECLARE t text; BEGIN
                FOR t IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^results_2'
                LOOP EXECUTE format('DROP TABLE carillon.%I', t); END LOOP;
            END $$
            """
        )
        try await scene.enqueue(500)
        let worker = try await scene.fleet.started(["--log-level", "debug"], lease: Fleet.calm)
        try await worker.says("Maintenance has succeeded.")
        #expect(worker.lines(containing: "A maintenance step failed").isEmpty)
        #expect(try await scene.client.number(TestDatabase.coveredDays) == 4)
        try await scene.finish()
    }
}
