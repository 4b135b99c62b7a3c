import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// What PostgreSQL does for workers that sleep.
@Suite struct FallAsleepTests {
    private static let insert =
        "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')"

    /// Each brings work.
    private static let changes = [
        insert, "SELECT carillon.enqueue('demo', '{aabb}', 'x')",
        "SELECT carillon.enqueue('demo', '{aabb}', 'x', run_at => now() + interval '1 day')",
        "UPDATE carillon.apps SET paused = true WHERE id = 2", "DELETE FROM carillon.apps WHERE id = 3",
        "UPDATE carillon.certificates SET name = 'renamed'", "SELECT carillon.request_channel('demo', 0, 'match')",
    ]

    private static func withWorkers(_ count: Int, _ body: (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.withOwnCluster { database, _ in
            try await database.run(
                """
                INSERT INTO carillon.certificates (name, certificate) VALUES ('main', 'unread');
                INSERT INTO carillon.apps (name, topic, certificate_id)
                VALUES ('demo', 'com.example.demo', 1), ('other', 'x.y', 1), ('third', 'x.y', 1);
                UPDATE carillon.fleet_tasks SET next_run = now() + every;
                INSERT INTO carillon.workers (id, name, lease_until)
                SELECT n, 'w', now() + interval '15 s' FROM generate_series(1, \(count)) n
                """
            )
            try await body(database)
        }
    }

    /// Whether it was written, why the worker must not sleep, how many transactions it has to wait for, and whether another one is
    /// awake.
    private static func ask(
        _ worker: Int,
        waitingFor holders: String? = nil,
        skipping skipped: String = "{}",
        in database: TestDatabase
    ) async throws -> String {
        let answer = try await database.rows(
            """
            SELECT a.alive, a.work, cardinality(a.holders) AS holders, a.others_awake FROM carillon.fall_asleep(
                \(worker), 150, \(holders.map { "'\($0)'" } ?? "NULL"),
                (\(AppWithSecret.fingerprint.sql)), '\(skipped)', '{maintain,channels}', '{NULL,NULL}') AS a
            """
        )
        return answer.first ?? ""
    }

    private static func wake(_ worker: Int, in database: TestDatabase) async throws {
        try await database.run("UPDATE carillon.workers SET asleep_since = NULL WHERE id = \(worker)")
        try await database.connection.execute(SleepStatements.clear, Parameters(false))
    }

    private static func isNotifying(in database: TestDatabase) async throws -> Bool {
        try await database.value(
            "SELECT coalesce(pg_sequence_last_value('carillon.asleep') > extract(epoch FROM now()), false)"
        ) == "true"
    }

    @Test func `every change that brings work notifies, at any isolation, while the last worker sleeps`() async throws {
        try await Self.withWorkers(1) { database in
            let bell = Bell()
            let listener = try await PostgresConnection.connect(database.url, application: "l")
            try await listener.listen(to: SleepStatements.channel) { bell.ring() }
            try await database.run(
                """
                CREATE ROLE stranger;
                CREATE VIEW public.outbox AS SELECT m.app_id, m.tokens, m.payload FROM carillon.messages m;
                GRANT INSERT ON public.outbox TO stranger
                """
            )
            #expect(try await Self.ask(1, in: database) == "(t,,0,f)")
            #expect(try await Self.isNotifying(in: database))
            var rings = bell.rings.makeAsyncIterator()
            let isolated = ["REPEATABLE READ", "SERIALIZABLE"].map {
                "BEGIN ISOLATION LEVEL \($0); SELECT 1; \(Self.insert); COMMIT"
            }
            // Through a view, the role needs no right in the schema.
            let removal = "SELECT carillon.remove_channel('demo', 'match')"
            let stranger = "SET ROLE stranger; INSERT INTO public.outbox VALUES (1, '{aa}', '{}'); RESET ROLE"
            // Each waits until the listener has heard of it.
            for change in Self.changes + [removal] + isolated + [stranger] {
                try await database.run(change)
                _ = await rings.next()
            }
            let rows = Array("1\t{aa}\t{}\n".utf8)
            try await database.connection.copy("COPY carillon.messages (app_id, tokens, payload) FROM STDIN", rows)
            _ = await rings.next()
            await listener.close()
        }
    }

    @Test
    func `a transaction that has read the flag before it was set is waited for, whatever it changes`() async throws {
        try await Self.withWorkers(1) { database in
            for change in Self.changes + ["COPY carillon.messages (app_id, tokens, payload) FROM '/dev/null'"] {
                try await database.session { other in
                    try await other.run("BEGIN; \(change)")
                    #expect(try await Self.ask(1, in: database) == "(t,,1,f)", "\(change)")
                    let holder = try await database.value(
                        "SELECT virtualtransaction FROM pg_locks WHERE pid = \(other.connection.backendProcessID) LIMIT 1"
                    )
                    let waiting = "{\(try #require(holder))}"
                    #expect(try await Self.ask(1, waitingFor: waiting, in: database) == "(t,,1,f)", "\(change)")
                    // Those that come later notify.
                    try await database.session { late in
                        try await late.run("BEGIN; \(Self.insert)")
                        #expect(try await Self.ask(1, waitingFor: waiting, in: database) == "(t,,1,f)", "\(change)")
                        try await late.run("ROLLBACK")
                    }
                    try await other.run("ROLLBACK")
                    #expect(try await Self.ask(1, waitingFor: waiting, in: database) == "(t,,0,f)", "\(change)")
                }
                try await Self.wake(1, in: database)
            }
        }
    }

    @Test func `while one worker is awake nobody notifies, and the last one to sleep changes that`() async throws {
        try await Self.withWorkers(2) { database in
            #expect(try await Self.ask(1, in: database) == "(t,,0,t)")
            #expect(try await !Self.isNotifying(in: database))
            #expect(try await Self.ask(2, in: database) == "(t,,0,f)")
            #expect(try await Self.isNotifying(in: database))
            try await Self.wake(2, in: database)
            #expect(try await !Self.isNotifying(in: database))
            #expect(try await Self.ask(1, in: database) == "(t,,0,t)")
            #expect(try await !Self.isNotifying(in: database))
            // It has died, and was taken over.
            try await database.run("DELETE FROM carillon.workers WHERE id = 2")
            #expect(try await Self.ask(1, in: database) == "(t,,0,f)")
            #expect(try await Self.isNotifying(in: database))
            #expect(try await database.rows("SELECT id, state FROM carillon.worker_status") == ["(1,asleep)"])
        }
    }

    /// Only the one that fell asleep last has waited for them.
    @Test func `when a worker ends, the others wait for the transactions that it has waited for`() async throws {
        try await Self.withWorkers(2) { database in
            try await database.session { other in
                #expect(try await Self.ask(1, in: database) == "(t,,0,t)")
                try await other.run("BEGIN; \(Self.insert)")
                #expect(try await Self.ask(2, in: database) == "(t,,1,f)")
                // It is killed.
                try await database.run("DELETE FROM carillon.workers WHERE id = 2")
                #expect(try await Self.ask(1, in: database) == "(t,,1,f)")
                // Another one ends.
                try await database.connection.execute(SleepStatements.clear, Parameters(true))
                #expect(try await Self.ask(1, waitingFor: "{}", in: database) == "(t,,1,f)")
                try await other.run("ROLLBACK")
            }
        }
    }

    @Test func `after a minute of sleep nothing is shown as sent or answered within the last minute`() async throws {
        try await Self.withWorkers(1) { database in
            try await database.run("UPDATE carillon.workers SET waits = '{1}', answers = '{2}'")
            for (seconds, shown) in [(0, "({1},{2})"), (50, "({1},{2})"), (61, "(,)")] {
                try await database.run("UPDATE carillon.workers SET asleep_since = now() - interval '\(seconds) s'")
                #expect(try await Self.ask(1, in: database) == "(t,,0,f)")
                let rows = try await database.rows("SELECT waits, answers FROM carillon.workers")
                #expect(rows == [shown], "\(seconds) s")
            }
        }
    }

    @Test func `a heartbeat shows that the worker is awake, whatever a late question has written`() async throws {
        try await Self.withWorkers(1) { database in
            #expect(try await Self.ask(1, in: database) == "(t,,0,f)")
            let parameters = LeaseStatements.parameters(
                renewing: 1,
                for: .seconds(15),
                noting: ([], [], 0),
                settlingWithin: nil
            )
            try await database.connection.execute(LeaseStatements.heartbeat, parameters)
            #expect(try await database.rows("SELECT id, state FROM carillon.worker_status") == ["(1,alive)"])
        }
    }

    @Test func `where a trigger that notifies is disabled, no worker sleeps`() async throws {
        try await Self.withWorkers(1) { database in
            let maySleep = "SELECT a.may_sleep FROM carillon.fall_asleep(1, 150, NULL, '{}', '{}', '{}', '{}') AS a"
            for (change, answer) in [
                ("DISABLE", "false"), ("ENABLE REPLICA", "false"), ("ENABLE ALWAYS", "true"), ("ENABLE", "true"),
            ] {
                try await database.run("ALTER TABLE carillon.channels \(change) TRIGGER wake_sleepers")
                #expect(try await database.value(maySleep) == answer, "\(change)")
            }
        }
    }

    @Test func `after the last sleeper has died, its lease of notifications ends`() async throws {
        try await Self.withWorkers(1) { database in
            #expect(try await Self.ask(1, in: database) == "(t,,0,f)")
            let seconds = "SELECT round(pg_sequence_last_value('carillon.asleep') - extract(epoch FROM now()))"
            #expect((89...91).contains(try await database.number(seconds)))
            try await database.run("SELECT setval('carillon.asleep', extract(epoch FROM now())::bigint - 1)")
            #expect(try await !Self.isNotifying(in: database))
        }
    }

    @Test func `a worker with work does not fall asleep, and makes nobody notify`() async throws {
        try await Self.withWorkers(1) { database in
            let work = [
                (Self.insert, "messages", "TRUNCATE carillon.messages"),
                (
                    """
                    INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (1, 1, '{aa}', '{}', now())
                    """, "due", "TRUNCATE carillon.scheduled"
                ),
                (
                    "UPDATE carillon.fleet_tasks SET next_run = now()", "due",
                    "UPDATE carillon.fleet_tasks SET next_run = now() + every"
                ),
                ("SELECT carillon.request_channel('demo', 0, 'match')", "due", "TRUNCATE carillon.channels"),
                (
                    "INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES (1, 1, '{}')", "claims",
                    "TRUNCATE carillon.inflight"
                ),
                (
                    "INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES (99, 1, '{}')", "claims",
                    "TRUNCATE carillon.inflight"
                ),
            ]
            for (change, reason, undo) in work {
                try await database.run(change)
                #expect(try await Self.ask(1, in: database) == "(,\(reason),0,f)", "\(change)")
                #expect(try await !Self.isNotifying(in: database))
                try await database.run(undo)
            }
            // Rows of apps that are paused, or that the worker cannot send for.
            try await database.run("\(Self.insert); UPDATE carillon.apps SET paused = true WHERE id = 1")
            #expect(try await Self.ask(1, in: database) == "(t,,0,f)")
            try await database.run("UPDATE carillon.apps SET paused = false")
            #expect(try await Self.ask(1, in: database) == "(t,messages,0,f)")
            #expect(try await Self.ask(1, skipping: "{1}", in: database) == "(t,,0,f)")
            // A worker that has no row is told so.
            #expect(try await Self.ask(77, skipping: "{1}", in: database) == "(f,,0,f)")
        }
    }

    @Test func `a worker is told when the next thing is due`() async throws {
        try await Self.withWorkers(1) { database in
            let due =
                "SELECT round(a.due_in / 1e6) FROM carillon.fall_asleep(1, 150, '{}', '{}', '{}', '{feedback}', '{30}') AS a"
            #expect((20...30).contains(try await database.number(due)))
            try await database.run(
                """
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
                VALUES (1, 1, '{aa}', '{}', now() + interval '9 s'), (2, 1, '{aa}', '{}', 'infinity')
                """
            )
            #expect((1...9).contains(try await database.number(due)))
            try await database.run("UPDATE carillon.scheduled SET run_at = '-infinity' WHERE id = 1")
            #expect(try await Self.ask(1, in: database) == "(,due,0,f)")
        }
    }

    /// PostgreSQL refuses to prepare a transaction that has notified.
    @Test
    func `where transactions can be prepared to commit no worker sleeps, and inserts can be prepared`() async throws {
        try await TestDatabase.withOwnCluster(parameters: ["max_prepared_transactions": "5"]) { database, _ in
            try await database.run("INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now())")
            let answer = try await database.rows(
                "SELECT a.may_sleep, a.alive FROM carillon.fall_asleep(1, 150, '{}', '{}', '{}', '{}', '{}') AS a"
            )
            #expect(answer == ["(f,)"])
            #expect(try await !Self.isNotifying(in: database))
            try await database.run("BEGIN; \(Self.insert); PREPARE TRANSACTION 'prepared'")
            try await database.run("COMMIT PREPARED 'prepared'")
            #expect(try await database.number("SELECT count(*) FROM carillon.messages") == 1)
        }
    }

    @Test func `a role that may only insert needs no right on the flag`() async throws {
        try await Self.withWorkers(1) { database in
            try await database.run(
                """
                CREATE ROLE inserter;
                GRANT USAGE ON SCHEMA carillon TO inserter;
                GRANT INSERT (app_id, tokens, payload) ON carillon.messages TO inserter
                """
            )
            #expect(try await Self.ask(1, in: database) == "(t,,0,f)")
            try await database.run("BEGIN; SET LOCAL ROLE inserter; \(Self.insert); COMMIT")
            let error = await database.refusal(
                of: "BEGIN; SET LOCAL ROLE inserter; SELECT setval('carillon.asleep', 1); COMMIT"
            )
            #expect(error?.sqlState == "42501")
            try await database.run("ROLLBACK")
        }
    }
}
