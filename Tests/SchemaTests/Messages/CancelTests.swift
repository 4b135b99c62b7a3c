import CarillonPostgres
import TestSupport
import Testing

/// Cancelled jobs that no worker has claimed are not sent, and results counts them as cancelled.
@Suite(.demo) struct CancelTests {
    private static let results = """
        SELECT message_id, broadcast_id, reference, sent, failed, cancelled, attempts FROM carillon.results ORDER BY message_id
        """

    @Test func `cancel removes a waiting message in any lane, including a scheduled one`() async throws {
        try await database.run("INSERT INTO carillon.apps (name) VALUES ('other')")
        var ids: [String] = []
        for app in ["demo", "other"] {
            for lane in 0...2 {
                let id = try await database.value(
                    "carillon.enqueue('\(app)', '{aa,bb}', 'x', lane => \(lane), reference => 'r')"
                )
                ids.append(id ?? "")
            }
        }
        let later = try await database.value("carillon.enqueue('demo', '{aa}', 'x', run_at => '2100-01-01Z')")
        for id in ids + [later ?? ""] { #expect(try await database.value("carillon.cancel(\(id))") == "1") }
        #expect(try await database.value("SELECT count(*) FROM carillon.pending") == "0")
        #expect(
            try await database.rows(Self.results) == ids.map { "(\($0),,r,0,0,2,0)" } + ["(\(later ?? ""),,,0,0,1,0)"]
        )
        #expect(try await database.value("carillon.cancel(\(ids[0]))") == "0")
    }

    @Test func `cancel_messages removes messages of several apps at once, and counts each once`() async throws {
        try await database.run("INSERT INTO carillon.apps (name) VALUES ('other')")
        var ids: [String] = []
        for app in ["other", "demo", "other"] {
            ids.append(try await database.value("carillon.enqueue('\(app)', '{aa,bb}', 'x')") ?? "")
        }
        let list = (ids.reversed() + ids + ["12345", "NULL"]).joined(separator: ",")
        #expect(try await database.value("carillon.cancel_messages(ARRAY[\(list)]::bigint[])") == "3")
        #expect(try await database.rows(Self.results) == ids.map { "(\($0),,,0,0,2,0)" })
        #expect(
            try await database.rows("SELECT app_id, count(*) FROM carillon.results GROUP BY 1 ORDER BY 1") == [
                "(1,1)", "(2,2)",
            ]
        )
        #expect(try await database.value("carillon.cancel_messages('{}')") == "0")
        #expect(try await database.value("carillon.cancel_messages(NULL)") == "0")
    }

    @Test func `cancel leaves messages that are in flight, finished or unknown`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            VALUES (1, 1, ARRAY[carillon.job(id => 77, lane => 1::smallint, tokens => '{aa}', payload => '{}',
                created_at => now())]);
            INSERT INTO carillon.results (message_id, app_id, sent) VALUES (78, 1, 1)
            """
        )
        for id in ["77", "78", "12345", "NULL"] { #expect(try await database.value("carillon.cancel(\(id))") == "0") }
        for id in ["77", "78"] { #expect(try await database.value("carillon.cancel_broadcast(\(id))") == "0") }
        #expect(try await database.rows(Self.results) == ["(78,,,1,0,0,1)"])
    }

    @Test func `a job that returns for a retry during a cancel is not sent again`() async throws {
        let jobs = [5, 7].map {
            "carillon.job(id => \($0), lane => 1::smallint, tokens => '{aa}', payload => '{}', created_at => now())"
        }
        // 7 returns while 6 is being cancelled, and 5 while 7 is.
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            VALUES (1, 1, ARRAY[\(jobs.joined(separator: ", "))]);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (6, 1, '{bb}', '{}', 'infinity');
            CREATE FUNCTION land() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                UPDATE carillon.inflight SET jobs = jobs[1:1] WHERE OLD.id = 6;
                DELETE FROM carillon.inflight WHERE OLD.id = 7;
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
                VALUES (CASE OLD.id WHEN 7 THEN 5 ELSE 7 END, 1, '{aa}', '{}', now());
                RETURN OLD;
            END $$;
            CREATE TRIGGER land BEFORE DELETE ON carillon.scheduled FOR EACH ROW EXECUTE FUNCTION land()
            """
        )
        #expect(try await database.value("carillon.cancel_messages('{5,6,7}')") == "2")
        try await database.run("DROP TRIGGER land ON carillon.scheduled; SELECT carillon.promote(10)")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
        #expect(
            try await database.rows("SELECT message_id, cancelled FROM carillon.results ORDER BY 1") == [
                "(5,1)", "(6,1)", "(7,1)",
            ]
        )
    }

    @Test func `cancelling many messages reads inflight as often as cancelling one`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT 1, 1, array_agg(carillon.job(id => i, lane => 1::smallint, tokens => '{aa}', payload => '{}',
                created_at => now()))
            FROM generate_series(1000, 6999) i GROUP BY i / 1000
            """
        )
        var counts: [Int] = []
        for last in [1000, 1999] {
            let cancel = "SELECT carillon.cancel_messages(ARRAY(SELECT generate_series(1000, \(last))::bigint))"
            counts.append(try await database.blocksOfLongValues(in: "inflight", readBy: cancel))
        }
        #expect(counts[0] > 0 && counts[1] == counts[0], "pages read: \(counts)")
    }

    @Test func `cancelling a long list takes few locks, and waits for other cancels of its messages`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, tokens, payload)
            SELECT i, 1, '{aa}', '{}' FROM generate_series(1000, 3999) i
            """
        )
        try await database.run("BEGIN")
        #expect(try await database.value("carillon.cancel(2000)") == "1")
        async let cancelled = database.session { other in
            try await other.run("BEGIN")
            let jobs = try await other.value(
                "carillon.cancel_messages(ARRAY(SELECT generate_series(1000, 3999))::bigint[])"
            )
            let locks = try await other.value(
                "SELECT count(*) FROM pg_locks l WHERE l.locktype <> 'relation' AND l.pid = pg_backend_pid()"
            )
            try await other.run("COMMIT")
            return (jobs, locks)
        }
        try await database.seesBlocked("cancel_messages")
        try await database.run("COMMIT")
        let (jobs, locks) = try await cancelled
        #expect(jobs == "2999")
        #expect(Int(locks ?? "") ?? .max < 10, "\(locks ?? "")")
        #expect(try await database.value("SELECT count(DISTINCT message_id) FROM carillon.results") == "3000")
    }

    @Test
    func `the rest of a message that waits for a retry is cancelled, and its result counts all pushes`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.unfinished (message_id, app_id, reference, remaining, sent, failed, attempts)
            VALUES (500, 1, 'r', 4, 3, 1, 2);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, origin, attempt)
            VALUES (nextval('carillon.messages_id_seq'), 1, '{aa,bb}', '{}', now() + interval '1 hour', 500, 3);
            INSERT INTO carillon.messages (app_id, tokens, payload, origin, attempt) VALUES (1, '{cc}', '{}', 500, 3)
            """
        )
        #expect(try await database.value("carillon.cancel(500)") == "2")
        // One token is in flight: the message has not ended.
        #expect(
            try await database.rows("SELECT remaining, sent, failed, cancelled FROM carillon.unfinished") == [
                "(1,3,1,3)"
            ]
        )
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, origin, attempt)
            VALUES (nextval('carillon.messages_id_seq'), 1, '{dd}', '{}', now() + interval '1 hour', 500, 4)
            """
        )
        #expect(try await database.value("carillon.cancel(500)") == "1")
        #expect(try await database.rows(Self.results) == ["(500,,r,3,1,4,2)"])
        #expect(try await database.rows("TABLE carillon.unfinished").isEmpty)
    }

    @Test func `a broadcast is cancelled with its retries`() async throws {
        try await database.run(
            "INSERT INTO carillon.tokens (app_id, token) SELECT 1, lpad(to_hex(i), 8, '0') FROM generate_series(1, 3000) i"
        )
        let id = try #require(try await database.value("carillon.broadcast('demo', 'Hello')"))
        let other = try #require(try await database.value("carillon.enqueue('demo', '{aa}', 'x', lane => 2)"))
        try await database.run(
            """
            DELETE FROM carillon.messages WHERE id IN (\(id), \(id) + 1);
            INSERT INTO carillon.unfinished (message_id, app_id, broadcast_id, remaining, sent)
            VALUES (\(id), 1, \(id), 1, 999), (\(id) + 1, 1, \(id), 2, 998);
            INSERT INTO carillon.scheduled (id, app_id, lane, tokens, payload, run_at, origin, broadcast_id, attempt)
            VALUES (nextval('carillon.messages_id_seq'), 1, 2, '{aa}', '{}', now() + interval '1 hour', \(id),
                \(id), 2);
            INSERT INTO carillon.messages (app_id, lane, tokens, payload, origin, broadcast_id, attempt)
            VALUES (1, 2, '{aa,bb}', '{}', \(id) + 1, \(id), 2)
            """
        )
        #expect(try await database.value("carillon.cancel_broadcast(\(id))") == "3")
        #expect(try await database.value("carillon.cancel_broadcast(\(id))") == "0")
        let first = try #require(Int(id))
        #expect(
            try await database.rows(Self.results) == [
                "(\(first),\(id),,999,0,1,1)", "(\(first + 1),\(id),,998,0,2,1)",
                "(\(first + 2),\(id),,0,0,1000,0)",
            ]
        )
        #expect(try await database.rows("SELECT id FROM carillon.pending") == ["(\(other))"])
        #expect(
            try await database.rows("SELECT cancelled, finished FROM carillon.broadcast_progress(\(id))") == [
                "(1003,t)"
            ]
        )
        #expect(try await database.value("SELECT cancelled_at IS NOT NULL FROM carillon.split_messages") == "true")
    }

    @Test func `cancel_broadcast removes all jobs of a scheduled broadcast, and a single message`() async throws {
        let list = "ARRAY(SELECT lpad(to_hex(i), 8, '0') FROM generate_series(1, 2001) i)"
        let id = try await database.value("carillon.enqueue('demo', \(list), 'x', run_at => '2100-01-01Z')")
        #expect(try await database.value("carillon.cancel_broadcast(\(id ?? ""))") == "3")
        let single = try await database.value("carillon.enqueue('demo', '{aa}', 'x')")
        #expect(try await database.value("carillon.cancel_broadcast(\(single ?? ""))") == "1")
        #expect(try await database.value("SELECT sum(cancelled) FROM carillon.results") == "2002")
    }

    @Test func `a cancel waits for a claim that is not committed, and leaves what it claimed`() async throws {
        let id = try await database.value("carillon.enqueue('demo', '{aa}', 'x')")
        try await database.run("BEGIN; DELETE FROM carillon.messages")
        async let cancelled = database.session { other in try await other.value("carillon.cancel(\(id ?? ""))") }
        try await database.seesBlocked("carillon.cancel")
        try await database.run("COMMIT")
        #expect(try await cancelled == "0")
        #expect(try await database.rows(Self.results).isEmpty)
    }
}
