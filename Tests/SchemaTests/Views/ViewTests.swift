import CarillonPostgres
import TestSupport
import Testing

@Suite(.demo) struct ViewTests {
    @Test func `pending shows what is ready, scheduled and in flight together`() async throws {
        _ = try await database.value("carillon.enqueue('demo', '{aa,bb}', 'x', reference => 'one')")
        _ = try await database.value(
            "carillon.enqueue('demo', '{aa}', 'x', run_at => '2100-01-01Z', reference => 'two')"
        )
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            VALUES (9, 7, ARRAY[carillon.job(id => 77, lane => 0::smallint, tokens => '{aa,bb,cc}', payload => '{}',
                reference => 'three', attempt => 2::smallint, created_at => now())])
            """
        )
        #expect(
            try await database.rows(
                "SELECT state, app, reference, token_count, attempt, run_at IS NULL, worker_id FROM carillon.pending ORDER BY reference"
            ) == ["(ready,demo,one,2,1,t,)", #"("in flight",,three,3,2,t,9)"#, "(scheduled,demo,two,1,1,f,)"]
        )
    }

    @Test func `app_status adds up the counts of an app`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name, paused) VALUES ('idle', true);
            INSERT INTO carillon.messages (app_id, lane, tokens, payload, created_at) VALUES
                (1, 2, '{aa}', '{}', now() - interval '5 minutes'), (1, 0, '{aa}', '{}', now());
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES (1, 1, ARRAY[carillon.job(id => 1,
                lane => 1::smallint, tokens => '{aa}', payload => '{}', created_at => now())]);
            INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed) VALUES
                (date_trunc('minute', now()), 1, 1, 10, 1), (date_trunc('minute', now()), 1, 2, 5, 0),
                (date_trunc('minute', now()) - interval '30 minutes', 1, 1, 100, 20),
                (date_trunc('minute', now()) - interval '3 hours', 1, 1, 1000, 200);
            UPDATE carillon.certificates SET status = 'ok', not_after = now() - interval '1 day', last_error = 'none'
            """
        )
        #expect(
            try await database.rows(
                """
                    SELECT app, paused, ready, in_flight, date_trunc('minute', oldest_age), sent_last_minute, failed_last_minute,
                    sent_last_hour, failed_last_hour, credential, credential_status, credential_error
                FROM carillon.app_status ORDER BY app_id
                """
            ) == ["(demo,f,2,1,00:05:00,15,1,115,21,main,expired,none)", "(idle,t,0,0,,0,0,0,0,,missing,)"]
        )
    }

    @Test func `the state of one app is computed for no other`() async throws {
        let plan = try await database.plan("SELECT ready FROM carillon.app_status WHERE app_id = 1")
        #expect(plan.contains("Index Cond: (id = 1)"), "\(plan)")
        // What is not asked for is not computed.
        let names = try await database.plan("SELECT app FROM carillon.app_status", "VERBOSE")
        #expect(!names.contains("queue_depth"), "\(names)")
    }

    @Test func `jobs are counted up to a bound that the caller can lower`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 1, '{aa}', '{}' FROM generate_series(1, 50);
            ANALYZE carillon.messages;
            DELETE FROM carillon.messages WHERE id > 20
            """
        )
        #expect(try await database.number("SELECT carillon.queue_depth(1)") == 20)
        #expect(try await database.number("SELECT carillon.queue_depth(1, 20)") == 20)
        #expect(try await database.number("SELECT carillon.queue_depth(1, 19)") == 50, "the planner's estimate")
        let precisions = ["20, 20", "20, 19", "50, 19"].map { "carillon.depth_precision(\($0))" }
        #expect(
            try await database.rows("SELECT \(precisions.joined(separator: ", "))") == [
                "(exact,\"at least\",about)"
            ]
        )
    }

    @Test func `the depth of a long queue is estimated`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('small'), ('thousand');
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, '{aa}', '{}' FROM generate_series(1, 50000);
            INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 2, '{aa}', '{}' FROM generate_series(1, 999);
            INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 3, '{aa}', '{}' FROM generate_series(1, 1500);
            ANALYZE carillon.messages
            """
        )
        #expect(
            try await database.rows(
                """
                    SELECT app, CASE app WHEN 'small' THEN ready = 999 WHEN 'thousand' THEN ready BETWEEN 1001 AND 3000
                        ELSE ready BETWEEN 45000 AND 55000 END FROM carillon.app_status ORDER BY 1
                """
            ) == ["(demo,t)", "(small,t)", "(thousand,t)"]
        )
    }
}
