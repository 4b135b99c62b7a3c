import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// The history's partitions, when they are missing, and while other sessions read them.
@Suite(.scene) struct HistoryCases {
    @Test
    func `D26: a million rows in the default partition are moved while more come in, and nothing waits`() async throws {
        let rows = Board.sized(100_000, full: 1_000_000)
        // Stale rows, with ids that no message has.
        try await scene.client.run(
            """
            \(TestDatabase.forgetPartitions);
            UPDATE carillon.apps SET max_rate = 100;
            -- An autovacuum may hold a lock that the step does not wait for.
            ALTER TABLE carillon.results_default SET (autovacuum_enabled = off);
            INSERT INTO carillon.results (message_id, app_id, finished_at)
            SELECT -i, 1, now() - i % 3 * interval '1 day' FROM generate_series(1, \(rows)) i;
            ANALYZE carillon.results
            """
        )
        let check = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": scene.client.url])
        #expect(check.output.contains("rows of carillon.results lie in its default partition"), "\(check.output)")
        let worker = try scene.fleet.start(["--log-level", "debug"], lease: Fleet.calm)
        try await scene.underLoad(depth: 200) {
            try await worker.says("Maintenance has succeeded.")
            try await scene.goesOn(100)
        }
        #expect(worker.lines(containing: "A maintenance step failed").isEmpty)
        #expect(try await scene.client.number(TestDatabase.coveredDays) == 4)
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.results_default") == 0)
        #expect(try await worker.metric("carillon_default_partition_rows") == 0)
        let again = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": scene.client.url])
        #expect(again.output.contains("ok       maintenance"), "\(again.output)")
        try await scene.drained()
        // None of them was lost.
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.results WHERE message_id < 0") == rows)
        try await scene.client.run("DELETE FROM carillon.results WHERE message_id < 0")
        try await scene.finish()
    }

    @Test
    func `D27: during a long read of the history sending continues, and maintenance follows afterwards`() async throws {
        try await scene.client.run(
            """
            \(TestDatabase.forgetPartitions);
            UPDATE carillon.apps SET max_rate = 100;
            CREATE TABLE carillon.results_20200101 PARTITION OF carillon.results
                FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z');
            INSERT INTO carillon.dedupe VALUES (1, 'held', 1, now() - interval '1 s'), (1, 'free', 1, now() - interval '1 s')
            """
        )
        let again = "UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'maintain'"
        let worker = try await scene.client.session { session in
            try await session.script(
                """
                BEGIN; SELECT count(*) FROM carillon.results; SELECT count(*) FROM carillon.failures;
                SELECT FROM carillon.dedupe WHERE key = 'held' FOR UPDATE
                """
            )
            let worker = try scene.fleet.start(["--log-level", "debug"], lease: Fleet.calm)
            try await scene.underLoad(depth: 200) {
                try await worker.says("Maintenance has succeeded.")
                for round in 2...Board.sized(3, full: 20) {
                    try await scene.goesOn(100)
                    try await scene.client.run(again)
                    try await worker.says("Maintenance has succeeded.", times: round)
                }
            }
            // The failure is recorded, and all else was done.
            #expect(try await worker.metric("carillon_maintenance_failing") > 0)
            let check = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": scene.client.url])
            #expect(check.output.contains("The maintenance step"), "\(check.output)")
            #expect(try await scene.client.text("SELECT string_agg(d.key, ',') FROM carillon.dedupe d") == "held")
            try await session.script("COMMIT")
            return worker
        }
        // A step that meets another lock, such as that of a worker that writes results, succeeds in a later round.
        var failing = ""
        try await scene.eventually("no step of maintenance fails, \(failing)") {
            let rounds = worker.lines(containing: "Maintenance has succeeded.").count
            try await scene.client.run(again)
            try await worker.says("Maintenance has succeeded.", times: rounds + 1)
            failing = try await scene.client.text(
                "SELECT string_agg(format('%s %s: %s', m.action, m.target, m.last_error), '; ') "
                    + "FROM carillon.maintenance m WHERE m.last_failure > m.last_success"
            )
            return failing.isEmpty
        }
        #expect(try await scene.client.number(TestDatabase.coveredDays) == 4)
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.dedupe") == 0)
        #expect(try await scene.client.text("SELECT to_regclass('carillon.results_20200101')") == "")
        try await scene.finish()
    }
}
