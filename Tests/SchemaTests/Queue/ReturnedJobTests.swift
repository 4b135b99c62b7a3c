import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// Jobs that return to the queue: with another id if theirs is in use, and not at all if they were cancelled.
@Suite(.demo) struct ReturnedJobTests {
    private static let waiting = "SELECT id, tokens, origin FROM carillon.messages ORDER BY id"
    private static let unfinished = "SELECT message_id, remaining FROM carillon.unfinished ORDER BY 1"

    private static func held(_ id: Int, _ tokens: String, origin: String = "NULL", broadcast: String = "NULL") -> String
    {
        """
        carillon.job(id => \(id), lane => 1::smallint, tokens => '\(tokens)', payload => '{}', origin => \(origin),
            broadcast_id => \(broadcast), created_at => now())
        """
    }

    @Test func `a due job whose id is in use gets another id, and stays part of its message`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, origin) VALUES
                (100, 1, '{aa,bb,AA}', '{}', now(), NULL), (101, 1, '{cc}', '{}', now(), 90),
                (102, 1, '{dd}', '{}', now(), NULL);
            INSERT INTO carillon.unfinished (message_id, app_id, remaining) VALUES (90, 1, 1);
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (100, 1, '{ee}', '{}'), (101, 1, '{ff}', '{}')
            """
        )
        #expect(
            try await database.rows("SELECT kind, app_id, lane, lowest, jobs FROM carillon.promote(10)") == [
                "(lane,1,1,100,3)", "(position,,,,)",
            ]
        )
        #expect(
            try await database.rows(Self.waiting) == [
                "(1,\"{aa,bb,AA}\",100)", "(2,{cc},90)", "(100,{ee},)", "(101,{ff},)", "(102,{dd},)",
            ]
        )
        #expect(try await database.rows(Self.unfinished) == ["(90,1)", "(100,2)"])
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
    }

    @Test func `a release names the time of the claim, because a crash can give its id to another`() async throws {
        let worker = try await database.addWorker()
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, claimed_at, jobs)
            VALUES (\(worker), 1, timestamptz 'epoch' + interval '5 s', ARRAY[\(Self.held(100, "{aa}"))])
            """
        )
        // A crash of the database undid the claim of the fourth second, and gave its id to that of the fifth.
        for (claimedAt, left) in [(4_000_000, "1"), (5_000_000, "0")] as [(Int64, String)] {
            let key = ClaimKey(id: 1, claimedAt: claimedAt)
            let parameters = ClaimKey.parameters(releasing: [key], of: worker)
            try await database.connection.execute(ClaimKey.release, parameters)
            #expect(try await database.value("SELECT count(*) FROM carillon.inflight") == left)
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "1")
    }

    @Test func `a released or taken-over job whose id is in use gets another id`() async throws {
        let worker = try await database.addWorker()
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES
                (\(worker), 1, ARRAY[\(Self.held(100, "{aa,bb}")), \(Self.held(101, "{cc}"))]),
                (999, 1, ARRAY[\(Self.held(102, "{dd}")), \(Self.held(103, "{ee}"))]);
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (100, 1, '{00}', '{}'), (102, 1, '{00}', '{}');
            SELECT carillon.release(\(worker), '{1}');
            SELECT carillon.take_over(\(worker))
            """
        )
        #expect(
            try await database.rows(
                "SELECT id, tokens, origin FROM carillon.messages WHERE tokens <> '{00}' ORDER BY id"
            )
                == ["(1,\"{aa,bb}\",100)", "(2,{dd},102)", "(101,{cc},)", "(103,{ee},)"]
        )
        #expect(try await database.rows(Self.unfinished) == ["(100,2)", "(102,1)"])
        // Results count for the messages that the jobs are of, and the inserted rows have their own.
        while try await !database.claim(by: worker).isEmpty { try await database.settleAll(of: worker) }
        #expect(
            try await database.rows("SELECT message_id, sent FROM carillon.results ORDER BY 1, 2") == [
                "(100,1)", "(100,2)", "(101,1)", "(102,1)", "(102,1)", "(103,1)",
            ]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.unfinished") == "0")
    }

    @Test func `two messages with the same inserted id are both taken over`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES
                (999, 1, ARRAY[\(Self.held(100, "{aa}")), \(Self.held(101, "{bb}"))]),
                (999, 1, ARRAY[\(Self.held(100, "{cc,dd}"))]), (999, 1, ARRAY[\(Self.held(100, "{ee}"))]);
            """
        )
        #expect(try await database.rows("SELECT claims, jobs FROM carillon.take_over(0)") == ["(3,4)"])
        #expect(
            try await database.rows("SELECT tokens FROM carillon.messages ORDER BY 1") == [
                "({aa})", "({bb})", "(\"{cc,dd}\")", "({ee})",
            ]
        )
        let worker = try await database.addWorker()
        while try await !database.claim(by: worker).isEmpty { try await database.settleAll(of: worker) }
        #expect(
            try await database.rows("SELECT message_id, sum(sent) FROM carillon.results GROUP BY 1 ORDER BY 1") == [
                "(100,4)", "(101,1)",
            ]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.unfinished") == "0")
    }

    @Test func `a message remains after a quarantined one of the same id was cut`() async throws {
        let quarantined = "(ARRAY[\(Self.held(100, "{aa,bb}"))], 3::smallint)"
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT 999, 1, ARRAY[carillon.changed_job(t.j[1], lost_claims => t.lost_claims)]
            FROM (VALUES \(quarantined), (ARRAY[\(Self.held(100, "{cc}"))], 0::smallint)) AS t(j, lost_claims);
            SELECT carillon.take_over(0)
            """
        )
        #expect(
            try await database.rows("SELECT tokens FROM carillon.messages ORDER BY 1") == [
                "({aa})", "({bb})", "({cc})",
            ]
        )
    }

    @Test(arguments: ["messages", "scheduled"])
    func `a job whose id is in use by a row that is being claimed is not lost`(_ table: String) async throws {
        let (due, never, waits) = table == "messages" ? ("", "", "") : (", run_at", ", 'infinity'", ", '{60000}'")
        try await database.run(
            """
            INSERT INTO carillon.\(table) (id, app_id, tokens, payload\(due)) VALUES (100, 1, '{00}', '{}'\(never));
            -- Stands for the other session: the row goes just after it was in the way.
            CREATE FUNCTION public.claimed() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN DELETE FROM carillon.\(table) WHERE id = 100; RETURN NULL; END';
            CREATE TRIGGER claimed AFTER INSERT ON carillon.\(table) EXECUTE FUNCTION public.claimed();
            SELECT carillon.return_jobs(1, ARRAY[\(Self.held(100, "{aa}"))]\(waits))
            """
        )
        #expect(try await database.rows("SELECT tokens, origin FROM carillon.\(table)") == ["({aa},100)"])
        #expect(try await database.value("SELECT count(*) FROM carillon.failures") == "0")
    }

    @Test func `a retry whose id is in use gets another id`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (100, 1, '{00}', '{}', now());
            SELECT carillon.return_jobs(1, ARRAY[\(Self.held(100, "{aa}")), \(Self.held(101, "{bb}"))], '{60000,120000}')
            """
        )
        #expect(
            try await database.rows(
                "SELECT id, tokens, origin, round(extract(epoch FROM run_at - now())) FROM carillon.scheduled ORDER BY id"
            ) == ["(1,{aa},100,60)", "(100,{00},,0)", "(101,{bb},,120)"]
        )
        #expect(try await database.rows(Self.unfinished) == ["(100,1)"])
    }

    @Test(arguments: [
        "SELECT carillon.release(1, '{1}')",
        "SELECT carillon.return_jobs(1, f.jobs, '{1000}') FROM carillon.inflight f",
    ])
    func `any number of inserted ids ahead of the sequence costs a few steps`(_ back: String) async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, tokens, payload)
            SELECT i, 1, '{00}'::text[], '{}'::json FROM generate_series(1, 60000) i
            UNION ALL SELECT 9223372036854775807, 1, '{00}'::text[], '{}'::json;
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT i, 1, '{00}', '{}', 'infinity'::timestamptz FROM generate_series(1, 70000) i;
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES (1, 1, ARRAY[\(Self.held(7, "{aa}"))]);
            SET statement_timeout = '5s';
            \(back)
            """
        )
        let id = try #require(
            try await database.value(
                "SELECT j.id FROM carillon.pending j WHERE j.origin = 7 AND j.state <> 'in flight'"
            ).flatMap { Int64($0) }
        )
        #expect(id > 70000 && id < 300_000)
        #expect(try await database.value("carillon.enqueue('demo', '{bb}', 'x')") == "\(id + 1)")
    }

    @Test func `no job of a cancelled broadcast returns to the queue`() async throws {
        let worker = try await database.addWorker()
        let job = { Self.held($0, "{aa,bb}", broadcast: "100") }
        try await database.run(
            """
            INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens) VALUES (100, 105, 1, 1, 6, 12);
            INSERT INTO carillon.messages (id, app_id, tokens, payload, broadcast_id) VALUES (100, 1, '{aa,bb}', '{}', 100);
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES
                (\(worker), 1, ARRAY[\(job(101))]), (999, 1, ARRAY[\(job(102)), \(Self.held(500, "{ff}"))]);
            """
        )
        #expect(try await database.value("carillon.cancel_broadcast(100)") == "1")
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, broadcast_id, run_at)
            VALUES (103, 1, '{aa,bb}', '{}', 100, now());
            INSERT INTO carillon.messages (id, app_id, tokens, payload, broadcast_id) VALUES (104, 1, '{aa,bb}', '{}', 100);
            SELECT carillon.release(\(worker), '{1}');
            SELECT carillon.take_over(\(worker));
            SELECT carillon.promote(10);
            SELECT carillon.split(1, 1::smallint, 104, 1)
            """
        )
        #expect(try await database.rows(Self.waiting) == ["(500,{ff},)"])
        #expect(
            try await database.rows("SELECT message_id, cancelled FROM carillon.results ORDER BY 1")
                == (100...104).map { "(\($0),2)" }
        )
    }

    @Test func `jobs of a broadcast that is being cancelled are delayed, and no session waits`() async throws {
        let worker = try await database.addWorker()
        try await database.run(
            """
            INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens) VALUES (100, 105, 1, 1, 6, 12);
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            VALUES (\(worker), 1, ARRAY[\(Self.held(101, "{aa}", broadcast: "100"))])
            """
        )
        try await database.run("BEGIN; SELECT carillon.cancel_broadcast(100)")
        try await database.session { other in
            // In one transaction, in which `now()` stays the same.
            try await other.run("SET statement_timeout = '20s'; BEGIN; SELECT carillon.release(\(worker), '{1}')")
            #expect(try await other.rows("SELECT id, run_at > now() FROM carillon.scheduled") == ["(101,t)"])
            try await other.run("COMMIT")
        }
        try await database.run("COMMIT")
        try await database.run("UPDATE carillon.scheduled SET run_at = now(); SELECT carillon.promote(10)")
        #expect(try await database.rows("SELECT message_id, cancelled FROM carillon.results") == ["(101,1)"])
        #expect(try await database.value("SELECT count(*) FROM carillon.pending") == "0")
    }

    @Test(arguments: [
        "SELECT FROM carillon.unfinished WHERE message_id = 90 FOR UPDATE",
        "LOCK TABLE carillon.results IN SHARE MODE", "LOCK TABLE carillon.unfinished IN SHARE MODE",
    ])
    func `a cancelled job whose row of unfinished is locked waits, and all other due jobs move`(
        _ lock: String
    ) async throws {
        try await database.run(
            """
            INSERT INTO carillon.unfinished (message_id, app_id, remaining) VALUES (90, 1, 2), (91, 1, 1), (92, 1, 1);
            INSERT INTO carillon.cancelled (app_id, message_id) VALUES (1, 90), (1, 91);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, origin)
            VALUES (100, 1, '{aa,bb}', '{}', now(), 90), (101, 1, '{cc}', '{}', now(), 92),
                (102, 2, '{dd}', '{}', now(), NULL)
            """
        )
        try await database.session { other in
            try await other.run("BEGIN; \(lock)")
            try await database.run("SET lock_timeout = '10s'; SELECT carillon.promote(10)")
            #expect(try await database.rows("SELECT id FROM carillon.messages ORDER BY 1") == ["(101)", "(102)"])
            #expect(try await database.rows("SELECT id FROM carillon.scheduled") == ["(100)"])
            try await other.run("COMMIT")
        }
        try await database.run("SELECT carillon.promote(10)")
        #expect(try await database.rows("SELECT message_id, cancelled FROM carillon.results") == ["(90,2)"])
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
    }

    @Test func `a takeover notes unknown outcomes of the jobs that it returns, once, and of no others`() async throws {
        let worker = try await database.addWorker()
        try await database.run(
            """
            INSERT INTO carillon.unfinished (message_id, app_id, remaining) VALUES (100, 1, 1);
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES
                (\(worker), 1, ARRAY[\(Self.held(100, "{aa}"))]), (\(worker), 1, ARRAY[\(Self.held(101, "{bb}"))])
            """
        )
        let noted = "SELECT message_id FROM carillon.unknown_outcomes ORDER BY 1"
        try await database.session { other in
            try await other.run("BEGIN; SELECT FROM carillon.unfinished WHERE message_id = 100 FOR UPDATE")
            try await database.bury(worker)
            try await database.run("SELECT carillon.take_over(0)")
            #expect(try await database.rows(noted) == ["(101)"])
            try await other.run("COMMIT")
        }
        try await database.run("SELECT carillon.take_over(0)")
        #expect(try await database.rows(noted) == ["(100)", "(101)"])
    }

    @Test(arguments: [
        "INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (100, 1, '{ff}', '{}')",
        "INSERT INTO carillon.unfinished (message_id, app_id, remaining) VALUES (100, 1, 1)",
    ])
    func `a due job whose id is in an open transaction waits, and all others move`(_ other: String) async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            VALUES (99, 1, '{aa}', '{}', now()), (100, 1, '{bb}', '{}', now()), (101, 1, '{cc}', '{}', now()),
                (102, 2, '{dd}', '{}', now())
            """
        )
        // So that 100 needs another id and a row of unfinished.
        let isTaken = other.contains("unfinished")
        if isTaken {
            try await database.run(
                "INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (100, 1, '{ff}', '{}')"
            )
        }
        try await database.session { session in
            try await session.run("BEGIN; \(other)")
            try await database.run("SET statement_timeout = '20s'")
            #expect(
                try await database.rows("SELECT app_id, sum(jobs) FROM carillon.promote(10) GROUP BY 1 ORDER BY 1")
                    == ["(1,2)", "(2,1)", "(,)"]
            )
            #expect(try await database.rows("SELECT id FROM carillon.scheduled") == ["(100)"])
            try await session.run("ROLLBACK")
        }
        try await database.run("SELECT carillon.promote(10)")
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
        let tokens = isTaken ? ["(aa)", "(bb)", "(cc)", "(dd)", "(ff)"] : ["(aa)", "(bb)", "(cc)", "(dd)"]
        #expect(try await database.rows("SELECT t FROM carillon.messages m, unnest(m.tokens) t ORDER BY 1") == tokens)
    }

    @Test func `promote gives up soon while a table is locked, and due jobs stay`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT i, 1, '{aa}', '{}', now() FROM generate_series(1, 500) i
            """
        )
        try await database.session { session in
            try await session.run("BEGIN; LOCK TABLE carillon.messages IN SHARE MODE")
            // Five hundred waits would be five seconds.
            try await database.run("SET statement_timeout = '2500ms'; SELECT carillon.promote(1000)")
            #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "500")
            try await session.run("ROLLBACK")
        }
        try await database.run("SELECT carillon.promote(1000)")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "500")
    }

    @Test func `a message that is cancelled in flight is not retried`() async throws {
        let worker = try await database.addWorker()
        let id = try #require(try await database.value("carillon.enqueue('demo', '{aa}', 'x', reference => 'r')"))
        let other = try #require(try await database.value("carillon.enqueue('demo', '{bb}', 'x')"))
        #expect(try await database.claim(by: worker).count == 2)
        #expect(try await database.value("carillon.cancel(\(id))") == "0")
        try await database.run("SELECT carillon.release(\(worker), '{1}')")
        #expect(try await database.rows("SELECT id FROM carillon.pending") == ["(\(other))"])
        #expect(
            try await database.rows("SELECT message_id, reference, sent, cancelled FROM carillon.results") == [
                "(\(id),r,0,1)"
            ]
        )
    }
}
