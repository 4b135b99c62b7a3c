import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Several workers, dead workers, and workers that stop.
@Suite(.queue) struct FleetTests {
    @Test func `a row with more tokens than may be in flight is cut, and still has one result`() async throws {
        try await queue.fill(rows: 1, tokens: 500)
        let backend = RecordedBackend()
        let report = try await queue.drain(backend) { $0.maxInFlight = 40 }
        #expect(report.isClean)
        #expect(Set(backend.sent.map(\.token)).count == 500)
        #expect(backend.sent.count == 500)
        #expect(
            try await queue.database.rows("SELECT message_id, sent, attempts FROM carillon.results") == ["(1,500,1)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
    }

    @Test func `a worker that others took for dead without its knowing ends well when it holds nothing`() async throws {
        let worker = queue.worker(RecordedBackend()) { $0.lease = .seconds(600) }
        let report = try await queue.running(worker) {
            try await queue.loop.eventually("it has begun") { worker.counters.isConnected }
            try await queue.database.run("DELETE FROM carillon.workers")
            worker.drain()
        }
        #expect(report.isClean)
    }

    @Test func `a worker that settles nothing is stuck, until it settles something`() async throws {
        let gate = GateBackend()
        let worker = queue.worker(gate) { options in
            options.lease = .seconds(2)
            options.stuckAfter = .seconds(1)
        }
        let count = "SELECT count(*) FROM carillon.worker_status WHERE state "
        _ = try await queue.running(worker) {
            // Before it has a push in flight: a second later it is stuck, whenever the test looks.
            try await queue.loop.eventually("it is alive") {
                try await queue.database.number(count + "IN ('alive', 'asleep')") == 1
            }
            try await queue.fill(rows: 1)
            for await _ in gate.arrivals { break }
            try await queue.loop.eventually("it is stuck") {
                try await queue.database.number(count + "= 'stuck'") == 1
            }
            gate.open()
            try await queue.loop.eventually("it is alive again") {
                try await queue.database.number(count + "IN ('alive', 'asleep')") == 1
            }
            worker.drain()
        }
    }

    @Test func `a dead worker's pushes are sent by another, or fail if they may not be repeated`() async throws {
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, on_unknown) VALUES
                (1, '{aa}', '{"aps":{}}', 'retry'), (1, '{bb,cc}', '{"aps":{}}', 'fail')
            """
        )
        let lost = GateBackend()
        // Its heartbeats are rare, and its lease is short to whoever reads its row.
        let dead = queue.worker(lost) { $0.lease = .seconds(600) }
        let run = Task { try await dead.run() }
        for await _ in lost.arrivals { break }
        // The claim may have come before its first heartbeat, which would undo the following change.
        try await queue.loop.eventually("it has told the others that it is awake") {
            try await queue.database.number("SELECT count(*) FROM carillon.workers WHERE beat > 0") == 1
        }
        try await queue.database.run(
            """
            UPDATE carillon.workers SET heartbeat_at = now() - interval '3 s', lease_until = now() - interval '2 s'
            """
        )
        let backend = RecordedBackend()
        let report = try await queue.drain(backend)
        #expect(report.counters[.takeovers] == 1)
        #expect(backend.sent.map(\.token) == ["aa"])
        #expect(
            try await queue.database.rows("SELECT message_id, token, reason FROM carillon.failures ORDER BY token")
                == ["(2,bb,OutcomeUnknown)", "(2,cc,OutcomeUnknown)"]
        )
        #expect(
            try await queue.database.rows("SELECT message_id, sent, failed FROM carillon.results ORDER BY 1")
                == ["(1,1,0)", "(2,0,2)"]
        )
        // The zombie's outcomes come too late, and change nothing.
        lost.open()
        dead.drain()
        let late = try await run.value
        #expect(late.counters[.stale] == 1)
        #expect(late.counters.total.sent == 0)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 2)
        #expect(lost.recorded.sent.first { $0.token == "aa" }?.id == backend.sent.first?.id)
    }

    @Test func `settling twice changes nothing`() async throws {
        try await queue.database.run(
            """
            INSERT INTO carillon.workers (name, lease_until) VALUES ('w', now() + interval '1 hour');
            INSERT INTO carillon.inflight (worker_id, app_id, claimed_at, jobs) VALUES (1, 1, '2026-01-01 00:00Z',
                ARRAY[carillon.job(id => 5, lane => 1::smallint, tokens => '{aa}', payload => '{}', created_at => now())])
            """
        )
        func attempt(_ worker: String, _ claimed: String, _ number: String) async throws -> [String] {
            let call = TestDatabase.settle([
                "claim": "1", "worker": worker, "claimed": claimed, "settlement_number": number, "ended": "{5}",
            ])
            return try await queue.database.rows(call)
        }
        #expect(try await attempt("2", "2026-01-01 00:00Z", "0") == ["(lost)"])
        // A claim that a crash of the database undid, and whose number was given away again.
        #expect(try await attempt("1", "2025-12-31 23:59Z", "0") == ["(before)"])
        #expect(try await attempt("1", "2026-01-01 00:00Z", "1") == ["(before)"])
        #expect(try await attempt("1", "2026-01-01 00:00Z", "0") == ["(written)"])
        #expect(try await attempt("1", "2026-01-01 00:00Z", "0") == ["(before)"])
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 1)
    }

    @Test func `an app that cannot connect keeps its messages, and others continue`() async throws {
        try await queue.addApp("other", topic: "org.example.other")
        try await queue.fill(rows: 100)
        try await queue.database.run("UPDATE carillon.messages SET app_id = 2 WHERE id % 2 = 0")
        // The messages of the app have odd numbers, those of the other even ones.
        let backend = RecordedBackend { token in
            (Int(token.suffix(8), radix: 16) ?? 0) / 10_000 % 2 == 1
                ? .accepted : .unreachable(PushError(.unreachable, "Nobody answers at localhost:1."))
        }
        let report = try await queue.drain(backend)
        #expect(report.counters.total.failed == 0)
        #expect(report.isClean)
        #expect(
            try await queue.database.rows("SELECT app_id, sum(sent) FROM carillon.results GROUP BY 1") == ["(1,50)"]
        )
        #expect(
            try await queue.database.rows("SELECT app_id, count(*), max(attempt) FROM carillon.messages GROUP BY 1")
                == ["(2,50,1)"]
        )
        #expect(!report.holds.isEmpty)
        #expect(
            try await queue.database.number(
                "SELECT count(*) FROM carillon.holds WHERE kind = 'connection' AND reason LIKE 'Nobody answers%'"
            )
                > 0
        )
    }

    @Test func `the holds that a worker has noted are deleted when it signs off`() async throws {
        try await queue.fill(rows: 3)
        let backend = RecordedBackend { _ in .unreachable(PushError(.unreachable, "Nobody answers.")) }
        let holds = "SELECT count(*) FROM carillon.holds"
        let worker = queue.worker(backend)
        let report = try await queue.running(worker) {
            try await queue.loop.eventually("the app is held") { try await queue.database.number(holds) == 1 }
            worker.drain()
        }
        #expect(report.isClean)
        #expect(try await queue.database.number(holds) == 0)
    }

    @Test(arguments: [
        "UPDATE carillon.apps SET gateway = 'localhost:9'", "DELETE FROM carillon.apps",
        "UPDATE carillon.certificates SET certificate = certificate || E'\\n'",
        """
        WITH new AS (
            INSERT INTO carillon.certificates (name, certificate) SELECT 'new', c.certificate FROM carillon.certificates c
            RETURNING id
        )
        UPDATE carillon.apps a SET certificate_id = new.id FROM new
        """,
    ])
    func `a change of an app or its credential ends its hold, even if nothing is to be sent`(change: String)
        async throws
    {
        try await queue.fill(rows: 3)
        let backend = RecordedBackend { _ in .unreachable(PushError(.unreachable, "Nobody answers.")) }
        let held = "SELECT count(*) FROM carillon.app_status WHERE hold_kind IS NOT NULL"
        let worker = queue.worker(backend)
        let report = try await queue.running(worker) {
            try await queue.loop.eventually("the app is held") { try await queue.database.number(held) == 1 }
            try await queue.loop.eventually("nothing is left to send") {
                try await queue.database.run("DELETE FROM carillon.messages")
                return try await queue.database.number(
                    "SELECT (SELECT count(*) FROM carillon.inflight) + (SELECT count(*) FROM carillon.messages)"
                ) == 0
            }
            try await queue.database.run(change)
            #expect(try await queue.database.number(held) == 0)
            try await queue.loop.eventually("the hold is deleted") {
                try await queue.database.number("SELECT count(*) FROM carillon.holds") == 0
            }
            worker.drain()
        }
        #expect(report.isClean && report.holds.isEmpty)
    }

    @Test func `an app whose credential is refused stays held while the worker writes that down`() async throws {
        try await queue.fill(rows: 3)
        let backend = RecordedBackend { _ in .rejected(403, "BadCertificate") }
        let ends = Guarded(0)
        let worker = queue.worker(
            backend,
            events: { event in if event.kind == .holdEnded { ends.withLock { $0 += 1 } } }
        )
        let report = try await queue.running(worker) {
            let status = "SELECT count(*) FROM carillon.certificates WHERE status = 'rejected'"
            try await queue.loop.eventually("it is written down") { try await queue.database.number(status) == 1 }
            // Until the apps were read again, and the credential was tried again.
            let tries = backend.sent.count
            try await queue.loop.eventually("it was tried again") { backend.sent.count > tries + 1 }
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.holds") == 1)
            worker.drain()
        }
        #expect(report.isClean && ends.withLock { $0 } == 0)
    }
}
