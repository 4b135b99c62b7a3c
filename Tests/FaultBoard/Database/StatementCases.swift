import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Faults of statements, and the effects of other sessions.
@Suite(.scene) struct StatementCases {
    @Test func `D9: a locked table makes workers wait, whatever timeouts the database has, and costs no lease`()
        async throws
    {
        let lease = Duration.seconds(5)
        let worker = try await scene.fleet.started(["--max-in-flight", "500"], lease: lease)
        try await scene.enqueue(500)
        try await scene.requests(500)
        for limit in ["0", "300ms"] {
            try await scene.client.run(
                "ALTER DATABASE \(scene.database) SET lock_timeout = '\(limit)'; ALTER DATABASE \(scene.database) "
                    + "SET statement_timeout = '\(limit == "0" ? "0" : "10s")'"
            )
            try await scene.renewSessions()
            let errors = try await worker.metric("carillon_database_errors_total")
            try await scene.client.session { session in
                try await session.script(
                    "SET lock_timeout = 0; BEGIN; LOCK TABLE carillon.messages IN ACCESS EXCLUSIVE MODE"
                )
                try await scene.eventually("statements met the lock") {
                    try await worker.metric("carillon_database_errors_total") >= errors + 3
                }
                try await scene.livesOn(worker, for: lease * 2)
                try await scene.transactionIsOpen(for: Board.sized(.zero, full: .seconds(20)))
                try await session.script("COMMIT")
            }
            // Counted from here: the worker may have sent all of them before `enqueue` returns.
            let before = scene.record.requests
            try await scene.enqueue(500)
            try await scene.requests(before + 100)
        }
        #expect(worker.lines(containing: "considered this worker dead").isEmpty)
        try await scene.finish()
    }

    @Test func `D11: settlements that deadlock or collide are made again, and count once`() async throws {
        try await scene.client.run(
            """
            CREATE SEQUENCE hiccups;
            GRANT USAGE ON SEQUENCE hiccups TO carillon_worker;
            CREATE FUNCTION hiccup() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE number bigint := nextval('public.hiccups');
            BEGIN
                IF number IN (1, 200, 400) THEN RAISE EXCEPTION 'could not serialize' USING ERRCODE = '40001'; END IF;
                IF number IN (2, 300, 500) THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER hiccup BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION hiccup()
            """
        )
        let worker = try await scene.fleet.started()
        try await scene.enqueue(3000)
        try await scene.drained()
        #expect(try await worker.metric("carillon_database_errors_total") >= 3)
        try await scene.finish()
    }

    @Test func `D12: with a transaction held open all the time, the queue stays about as fast`() async throws {
        try await scene.fleet.started()
        let rows = Board.sized(2000, full: 50_000)
        func round() async throws -> Duration {
            try await scene.enqueue(rows)
            let begin = MonotonicInstant.now
            try await scene.drained()
            return MonotonicInstant.now - begin
        }
        _ = try await round()
        let before = try await round()
        try await scene.client.session { session in
            try await session.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM carillon.apps")
            var last = Duration.zero
            for _ in 1...Board.sized(4, full: 20) { last = try await round() }
            // A round has a constant part, which matters in short rounds.
            #expect(last < before * 5 + .seconds(1))
            try await session.script("COMMIT")
        }
        try await scene.finish()
    }

    @Test func `D14: a worker finds new rows without a notification`() async throws {
        let worker = try await scene.fleet.started()
        try await scene.enqueue(1)
        try await scene.drained()
        var waits: [Duration] = []
        for number in 2...Board.sized(6, full: 40) {
            // By then, the worker looks for work at the longest interval.
            try await scene.livesOn(worker, for: .milliseconds(500))
            let begin = MonotonicInstant.now
            try await scene.enqueue(1)
            try await scene.requests(number)
            waits.append(MonotonicInstant.now - begin)
        }
        let median = waits.sorted()[waits.count / 2]
        #expect(median < Board.sized(.seconds(2), full: .milliseconds(250)))
        try await scene.finish()
    }

    @Test func `D16: a large transaction that commits during sending is sent like the rest`() async throws {
        // There is no fault here, so no lease may run out, however busy the machine is.
        try await scene.fleet.started(2, lease: Fleet.calm)
        try await scene.underLoad {
            try await scene.requests(200)
            try await scene.enqueue(Board.sized(10_000, full: 200_000), atOnce: .max)
            try await scene.goesOn(500)
        }
        try await scene.finish(within: .seconds(300))
    }

    @Test func `D17: rows that are committed late, with lower ids than those sent, are sent too`() async throws {
        try await scene.fleet.started()
        try await scene.client.session { session in
            try await session.script("BEGIN")
            let late = try await scene.enqueue(100, on: session)
            try await scene.enqueue(2000)
            // With idle times, so that the worker looks only for higher ids.
            try await scene.requests(2000)
            try await scene.transactionIsOpen(for: Board.sized(.seconds(3), full: .seconds(300)))
            try await scene.enqueue(100)
            try await session.script("COMMIT")
            scene.ledger.committed(late)
        }
        try await scene.finish()
    }
}
