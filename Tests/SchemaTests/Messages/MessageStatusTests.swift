import CarillonPostgres
import TestSupport
import Testing

/// `carillon.message_status`, as an app calls it.
@Suite(.demo) struct MessageStatusTests {
    private static let columns = "state, attempts, last_status, last_reason, tokens, sent, failed, waiting"

    private static func status(_ argument: String) -> String {
        "SELECT \(columns) FROM carillon.message_status(\(argument))"
    }

    /// Claims what is ready, as worker 1.
    private static let claim = """
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour') ON CONFLICT DO NOTHING;
        WITH gone AS (DELETE FROM carillon.messages RETURNING *)
        INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs)
        SELECT 5, 1, 1, '2026-01-01Z', array_agg(json_populate_record(NULL::carillon.job, to_json(g)))
        FROM gone g HAVING count(*) > 0
        """

    /// Settles that claim: the whole job is retried in an hour, after a 503.
    private static func retry(_ id: String) -> String {
        TestDatabase.settle([
            "claim": "5", "claimed": "2026-01-01Z",
            "going_back": "{\(id)}", "going_back_whole": "{t}", "going_back_attempt": "{2}",
            "going_back_after": "{3600000}",
            "going_back_status": "{503}", "going_back_reason": "{ServiceUnavailable}",
        ])
    }

    @Test func `message_status shows each state of a message, from enqueueing to its end`() async throws {
        let id = try #require(
            try await database.value("carillon.enqueue('demo', '{aa,bb}', 'x', reference => 'order 7')")
        )
        #expect(try await database.rows(Self.status(id)) == ["(ready,0,,,2,0,0,2)"])
        #expect(try await database.rows(Self.status("reference => 'order 7'")) == ["(ready,0,,,2,0,0,2)"])
        try await database.run(Self.claim)
        #expect(try await database.rows(Self.status(id)) == [#"("in flight",1,,,2,0,0,2)"#])
        try await database.run(Self.retry(id))
        #expect(try await database.rows(Self.status(id)) == ["(retrying,1,503,ServiceUnavailable,2,0,0,2)"])
        #expect(
            try await database.rows(
                """
                SELECT next_attempt_at > now() + interval '59 minutes', o ->> 'token', o ->> 'state', o ->> 'reason'
                FROM carillon.message_status(\(id)), jsonb_array_elements(outcomes) o
                """
            ) == ["(t,aa,retrying,ServiceUnavailable)", "(t,bb,retrying,ServiceUnavailable)"]
        )
        #expect(
            try await database.rows("SELECT state, last_status, last_reason, run_at > now() FROM carillon.pending")
                == ["(scheduled,503,ServiceUnavailable,t)"]
        )
    }

    @Test func `the last outcome of a retry stays with it when it is due and when it is claimed`() async throws {
        let id = try #require(try await database.value("carillon.enqueue('demo', '{aa}', 'x')"))
        try await database.run(Self.claim)
        try await database.run(Self.retry(id))
        try await database.run("UPDATE carillon.scheduled SET run_at = now(); SELECT carillon.promote(10)")
        #expect(try await database.rows(Self.status(id)) == ["(retrying,1,503,ServiceUnavailable,1,0,0,1)"])
        try await database.run(Self.claim)
        #expect(
            try await database.rows("SELECT state, last_status, last_reason FROM carillon.pending")
                == [#"("in flight",503,ServiceUnavailable)"#]
        )
        // The worker dies, and another takes the job over.
        try await database.run("DELETE FROM carillon.workers; SELECT carillon.take_over(2)")
        #expect(
            try await database.rows("SELECT state, last_status, last_reason FROM carillon.pending")
                == ["(ready,503,ServiceUnavailable)"]
        )
    }

    @Test(arguments: [
        (
            """
            messages (id, app_id, tokens, payload, attempt, origin, last_reason)
            VALUES (60, 1, '{cc}', '{}', 3, 50, 'OutcomeUnknown')
            """, "retrying,2"
        ),
        (
            """
            scheduled (id, app_id, tokens, payload, run_at, attempt, origin, last_reason)
            VALUES (60, 1, '{cc}', '{}', now() + interval '1 hour', 3, 50, 'OutcomeUnknown')
            """, "retrying,2"
        ),
        (
            """
            inflight (worker_id, app_id, jobs)
            VALUES (1, 1, ARRAY[carillon.job(id => 60, lane => 1::smallint, tokens => '{cc}', payload => '{}',
                attempt => 3::smallint, origin => 50, created_at => now(), last_reason => 'OutcomeUnknown')])
            """, #""in flight",3"#
        ),
    ])
    func `message_status finds a retry in every table`(row: String, status: String) async throws {
        try await database.run(
            """
            INSERT INTO carillon.unfinished (message_id, app_id, remaining, sent) VALUES (50, 1, 1, 2);
            INSERT INTO carillon.\(row)
            """
        )
        #expect(try await database.rows(Self.status("50")) == ["(\(status),,OutcomeUnknown,3,2,0,1)"])
    }

    @Test func `a message of several jobs has one status, by the id of any of them`() async throws {
        let id = try #require(
            try await database.value(
                """
                carillon.enqueue('demo', (SELECT array_agg(lpad(to_hex(n), 64, '0')) FROM generate_series(1, 2500) n), 'x',
                    reference => 'all')
                """
            )
        )
        let jobs = try #require(try await database.value("SELECT count(*) FROM carillon.messages"))
        #expect(jobs != "1")
        let last = try #require(try await database.value("SELECT max(id) FROM carillon.messages"))
        for argument in [id, last, "reference => 'all'"] {
            #expect(
                try await database.rows(
                    "SELECT id = \(id), state, tokens, waiting, jsonb_array_length(outcomes) FROM "
                        + "carillon.message_status(\(argument))"
                ) == ["(t,ready,2500,2500,1000)"]
            )
        }
        try await database.run(
            """
            WITH gone AS (DELETE FROM carillon.messages WHERE id = \(last) RETURNING *)
            INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, sent, failed)
            SELECT id, app_id, reference, broadcast_id, cardinality(tokens) - 1, 1 FROM gone;
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            VALUES (\(last), 1, 'dd', 410, 'Unregistered')
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT state, tokens = 2500, sent + failed + waiting = 2500, failed, last_status, last_reason,
                    outcomes -> 0 ->> 'token' FROM carillon.message_status(\(id))
                """
            ) == ["(ready,t,t,1,410,Unregistered,dd)"]
        )
    }

    @Test func `a finished message shows how it ended, and an unknown one has no row`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, reference, sent, failed) VALUES (70, 1, 'r', 1, 0),
                (71, 1, 'r', 1, 1), (72, 1, NULL, 0, 0);
            UPDATE carillon.results SET cancelled = 1 WHERE message_id = 72;
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason) VALUES (71, 1, 'aa', 400, 'BadTopic')
            """
        )
        #expect(
            try await database.rows(
                "SELECT id, state, last_status, last_reason FROM carillon.message_status(reference => 'r')"
            ) == ["(70,sent,200,)", "(71,\"partly sent\",400,BadTopic)"]
        )
        #expect(try await database.value("SELECT state FROM carillon.message_status(72)") == "cancelled")
        try await database.run("UPDATE carillon.results SET sent = 1 WHERE message_id = 72")
        #expect(
            try await database.rows("SELECT state, last_status FROM carillon.message_status(72)")
                == [#"("partly sent",)"#]
        )
        #expect(try await database.rows("SELECT * FROM carillon.message_status(1)") == [])
        let error = await database.refusal(of: "SELECT carillon.message_status()")
        #expect(error?.sqlState == "22023")
    }

    @Test func `a message waits for a worker while all are silent, including one with a lease`() async throws {
        let id = try #require(try await database.value("carillon.enqueue('demo', '{aa}', 'x')"))
        let reason = "SELECT waiting_reason FROM carillon.message_status(\(id))"
        #expect(try await database.value(reason) == "no worker is running")
        try await database.run(
            """
            INSERT INTO carillon.workers (id, name, heartbeat_at, lease_until)
            VALUES (1, 'w', now() - interval '9 minutes', now() + interval '1 minute')
            """
        )
        #expect(try await database.value(reason) == "no worker is running")
        try await database.run(
            "UPDATE carillon.workers SET heartbeat_at = now(), lease_until = now() + interval '9 minutes'"
        )
        #expect(try await database.value(reason) == nil)
    }

    private static let endings = [
        ("2, 0, 0, 0", "sent"), ("9, 1, 0, 0", "partly sent"), ("9, 0, 1, 0", "partly sent"),
        ("9, 0, 0, 1", "partly sent"),
        ("0, 1, 1, 1", "failed"), ("0, 0, 1, 1", "expired"), ("0, 0, 0, 1", "cancelled"), ("0, 0, 0, 0", "empty"),
    ]

    @Test(arguments: endings)
    func `the state is sent if all pushes were, and failed, expired or cancelled if none was`(
        counts: String,
        state: String
    ) async throws {
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, sent, failed, expired, cancelled) VALUES (70, 1, \(counts))
            """
        )
        #expect(try await database.value("SELECT state FROM carillon.message_status(70)") == state)
    }

    @Test func `message_status by an id does not read the queue`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, '{aa}', '{}' FROM generate_series(1, 20000) i;
            ANALYZE carillon.messages
            """
        )
        let pages = "SELECT pg_stat_get_xact_blocks_fetched('carillon.messages'::regclass)"
        try await database.run("BEGIN")
        let before = try #require(Int(try await database.value(pages) ?? ""))
        #expect(try await database.value("SELECT state FROM carillon.message_status(10000)") == "ready")
        let after = try #require(Int(try await database.value(pages) ?? ""))
        #expect(after - before < 50, "\(after - before) pages")
        try await database.run("ROLLBACK")
    }

    @Test func `carillon_app may call message_status, and reads nothing else by it`() async throws {
        let id = try #require(try await database.value("carillon.enqueue('demo', '{aa}', 'x')"))
        try await database.run("SET ROLE carillon_app")
        #expect(try await database.value("SELECT state FROM carillon.message_status(\(id))") == "ready")
        let refused = await database.refusal(of: "SELECT * FROM carillon.open_jobs(1, \(id), NULL, false, NULL)")
        #expect(refused?.sqlState == "42501")
    }

    @Test func `message_status looks once for other records of a message with many failures`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            SELECT 7, 1, lpad(to_hex(n), 64, '0'), 410, 'Unregistered' FROM generate_series(1, 500) n;
            INSERT INTO carillon.results (message_id, app_id, failed) VALUES (7, 1, 500);
            BEGIN;
            SET LOCAL track_functions = 'all'
            """
        )
        #expect(try await database.rows(Self.status("7")) == ["(failed,1,410,Unregistered,500,0,500,0)"])
        let calls = try await database.value(
            "coalesce(pg_stat_get_xact_function_calls('carillon.has_only_failures'::regproc), 0)"
        )
        try await database.run("COMMIT")
        #expect(Int(calls ?? "") == 1)
    }

    /// How many rows of failures a query finds through an index. PostgreSQL also counts what the session read shortly before.
    private func failuresRead(by query: String, index: String) async throws -> Int {
        let count = """
            SELECT sum(pg_stat_get_xact_tuples_fetched(i.relid)) FROM pg_partition_tree('carillon.\(index)') i
            """
        try await database.run("BEGIN")
        let before = try await database.number(count)
        _ = try await database.rows(query)
        let after = try await database.number(count)
        try await database.run("COMMIT")
        return after - before
    }

    @Test func `jobs of which only failures are recorded are found with one read each`() async throws {
        // The planner would also find them by message_id, after the jobs before.
        try await database.run(
            """
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, broadcast_id)
            SELECT 1 + n / 500, 1, lpad(to_hex(n), 64, '0'), 200, 'Unrecorded', CASE WHEN n >= 10000 THEN 21 END
            FROM generate_series(0, 19999) n
            """
        )
        try await database.run("ANALYZE carillon.failures")
        let jobs = "SELECT count(*), min(message_id), max(message_id) FROM carillon.unrecorded_jobs(1, 21)"
        #expect(try await database.rows(jobs) == ["(20,21,40)"])
        #expect(try await failuresRead(by: jobs, index: "failures_by_message") == 0)
        let read = try await failuresRead(by: jobs, index: "failures_by_broadcast")
        #expect(read <= 21)
        #expect(try await database.rows(Self.status("21")).first?.hasPrefix("(failed,1,200,Unrecorded,10000,") == true)
    }

    @Test func `the last outcome of an old message is found without reading newer failures of the app`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, failed) VALUES (50, 1, 2000);
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
            SELECT 50 + n / 2000, 1, lpad(to_hex(n), 64, '0'), 410, CASE n WHEN 1999 THEN 'ExpiredToken' ELSE 'Unregistered' END,
                now() + (n - 10000) * interval '1 ms'
            FROM generate_series(0, 9999) n
            """
        )
        try await database.run("ANALYZE carillon.failures")
        let last = "SELECT last_status, last_reason FROM carillon.message_status(50)"
        #expect(try await database.rows(last) == ["(410,ExpiredToken)"])
        #expect(try await failuresRead(by: last, index: "failures_by_app") == 0)
    }
}
