import CarillonPostgres
import TestSupport
import Testing

/// Cancels by reference, and cancels of the pushes to one person in jobs that have others too.
@Suite(.demo) struct CancelByOwnerTests {
    private static let queue = """
        SELECT m.app_id, m.tokens FROM carillon.messages m
        UNION ALL SELECT s.app_id, s.tokens FROM carillon.scheduled s ORDER BY 1
        """

    @Test func `a reference cancels all messages that have it and have not ended, in one app or in all`() async throws {
        try await database.run("INSERT INTO carillon.apps (name) VALUES ('other')")
        let list = "ARRAY(SELECT lpad(to_hex(n), 8, '0') FROM generate_series(1, 2500) n)"
        try await database.run(
            """
            SELECT carillon.enqueue('demo', '{aa}', 'x', reference => 'r'),
                carillon.enqueue('demo', '{bb}', 'x', reference => 'q'),
                carillon.enqueue('demo', '{aa}', 'x', run_at => '2100-01-01Z', reference => 'r'),
                carillon.enqueue('demo', \(list), 'x', reference => 'r'),
                carillon.enqueue('other', '{cc}', 'x', reference => 'r');
            INSERT INTO carillon.results (message_id, app_id, reference, sent) VALUES (9000, 1, 'r', 1)
            """
        )
        #expect(try await database.value("carillon.cancel(reference => 'r', app => 'demo')") == "5")
        #expect(try await database.rows(Self.queue) == ["(1,{bb})", "(2,{cc})"])
        #expect(try await database.value("carillon.cancel(reference => 'r')") == "1")
        #expect(try await database.value("carillon.cancel(reference => 'r')") == "0")
        #expect(
            try await database.value("SELECT sum(r.cancelled) FROM carillon.results r WHERE r.reference = 'r'")
                == "2503"
        )
    }

    @Test func `an owner's pushes are taken out of jobs, and those to others stay`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            SELECT carillon.register_token('demo', 'aa', 'anna'), carillon.register_token('demo', 'ab', 'anna'),
                carillon.register_token('demo', 'bb', 'bob'), carillon.register_token('other', 'aa', 'anna');
            SELECT carillon.enqueue('demo', '{aa,bb}', 'x', reference => 'r'), carillon.enqueue('demo', '{aa,ab}', 'x'),
                carillon.enqueue('demo', '{bb}', 'x', run_at => '2100-01-01Z'),
                carillon.enqueue('demo', '{ab,bb}', 'x', run_at => '2100-01-01Z'), carillon.enqueue('other', '{aa}', 'x')
            """
        )
        #expect(try await database.value("carillon.cancel(owner => 'anna', app => 'demo')") == "3")
        #expect(try await database.rows(Self.queue) == ["(1,{bb})", "(1,{bb})", "(1,{bb})", "(2,{aa})"])
        #expect(try await database.value("SELECT r.cancelled FROM carillon.results r") == "2")
        #expect(
            try await database.rows("SELECT u.cancelled, u.remaining FROM carillon.unfinished u") == ["(1,1)", "(1,1)"]
        )
        // Nothing is forgotten.
        #expect(try await database.value("SELECT count(*) FROM carillon.messages m WHERE m.reference = 'r'") == "1")
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "4")
        #expect(try await database.value("carillon.cancel(owner => 'anna')") == "1")
        #expect(try await database.value("carillon.cancel(owner => 'nobody')") == "0")
    }

    @Test func `a push in flight to an owner is not retried after a cancel, and a failure is recorded`() async throws {
        try await database.run(
            """
            SELECT carillon.register_token('demo', 'aa', 'anna');
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now());
            INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs)
            SELECT n, 1, 1, '2026-01-01Z', ARRAY[carillon.job(id => n, lane => 1::smallint, tokens => '{aa,bb}', payload => '{}',
                reference => 'r', created_at => now())] FROM generate_series(1, 2) n
            """
        )
        #expect(try await database.value("carillon.cancel(owner => 'anna')") == "0")
        let claim = ["claimed": "2026-01-01Z"]
        try await database.run(
            TestDatabase.settle(
                claim.merging([
                    "claim": "1", "going_back": "{1}", "going_back_whole": "{t}", "going_back_attempt": "{2}",
                ]) { $1 }
            ) + ";"
                + TestDatabase.settle(
                    claim.merging([
                        "claim": "2", "ended": "{2}", "ended_sent": "{1}", "ended_failed": "{1}",
                        "ended_reference": "{r}",
                        "failed": "{2}", "failed_reference": "{r}", "failed_token": "{aa}", "failed_status": "{400}",
                        "failed_reason": "{BadTopic}", "failed_attempt": "{1}",
                    ]) { $1 }
                )
        )
        #expect(try await database.rows(Self.queue) == ["(1,{bb})"])
        #expect(try await database.rows("SELECT f.token, f.reference FROM carillon.failures f") == ["(aa,r)"])
        #expect(try await database.rows("SELECT r.message_id, r.reference FROM carillon.results r") == ["(2,r)"])
    }

    @Test func `cancel takes one of id, reference and owner`() async throws {
        for (call, argument, state) in [
            ("1, reference => 'r'", "message_id", "22023"), ("reference => 'r', owner => 'o'", "owner", "22023"),
            ("owner => 'o', app => 'nope'", "app", "42704"), ("reference => 'r', app => 'nope'", "app", "42704"),
        ] {
            let error = await database.refusal(of: "SELECT carillon.cancel(\(call))", "\(call)")
            #expect(error?.sqlState == state, "\(call): \(error?.message ?? "")")
            #expect(error?.message.contains("argument \"\(argument)\"") == true, "\(call): \(error?.message ?? "")")
        }
        #expect(try await database.value("carillon.cancel(owner => NULL)") == "0")
    }
}
