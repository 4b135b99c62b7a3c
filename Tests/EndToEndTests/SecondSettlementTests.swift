import ApplePush
import ApplePushSimulator
import CarillonPushQueue
import TestSupport
import Testing

/// Claims that are settled in parts, and jobs that cannot be settled as they should.
@Suite struct SecondSettlementTests {
    /// Forty fast messages, a slow one, and one with two fast tokens and a slow one: tokens that begin with 51 are slow.
    private func fill(_ queue: TestQueue, app: Int = 1) async throws {
        try await queue.fill(app: app, rows: 40)
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload) VALUES
                (\(app), ARRAY[rpad('51001', 64, '0')], '{"aps":{}}'),
                (\(app), ARRAY[rpad('b1', 64, '0'), rpad('51002', 64, '0'), rpad('b2', 64, '0')], '{"aps":{}}')
            """
        )
    }

    /// Forty messages are done, and one is begun.
    private func fastOnesAreSettled(in queue: TestQueue) async throws -> Bool {
        let state = "SELECT (SELECT count(*) FROM carillon.results), (SELECT count(*) FROM carillon.unfinished)"
        return try await queue.database.rows(state) == ["(40,1)"]
    }

    private let results =
        "SELECT message_id, sent, failed, attempts FROM carillon.results WHERE message_id > 40 ORDER BY 1"

    @Test(.queue) func `a slow push delays no other, and ends by itself`() async throws {
        try await fill(queue)
        let backend = RemainderBackend()
        let worker = queue.worker(backend) { $0.maxInFlight = 20 }
        let report = try await queue.running(worker) {
            try await queue.loop.eventually("the fast ones are settled") {
                try await fastOnesAreSettled(in: queue) && worker.counters[.inFlight] == 2
            }
            #expect(
                try await queue.database.rows(
                    "SELECT i.settlements, j.id, left(j.tokens::text, 6) FROM carillon.inflight i, unnest(i.jobs) j ORDER BY 2"
                ).allSatisfy { $0.contains("51") }
            )
            #expect(try await queue.database.rows(results) == [])
            #expect(worker.counters.total.sent == 42)
            backend.release()
            worker.drain()
        }
        #expect(report.isClean)
        #expect(report.counters.total.sent == 44)
        #expect(try await queue.database.rows(results) == ["(41,1,0,1)", "(42,3,0,1)"])
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
        #expect(backend.recorded.sent.count == 44)
    }

    @Test func `after a worker's death only its slow pushes are sent again, as the same pushes`() async throws {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            $0.answers = [try AnswerRule(parsing: "51=silence*1")]
        } _: { simulator in
            try await TestQueue.with { queue in
                let issued = try simulator.issueCertificate(topics: ["org.example.wire"])
                try await queue.addApp(
                    "wire",
                    topic: "org.example.wire",
                    gateway: "localhost:\(simulator.port)",
                    authority: simulator.rootPEM,
                    credential: issued.certificate + issued.privateKey
                )
                try await fill(queue, app: 2)
                var slow = HTTP2Configuration.longTimeouts
                slow.requestTimeout = .seconds(600)
                slow.totalTimeout = .seconds(600)
                let lost = HTTP2Backend(slow)
                // What is answered later than that is settled with the slow pushes.
                let dying = queue.worker(lost) { $0.settleAfter = .seconds(5) }
                let run = Task { try await dying.run() }
                try await queue.loop.eventually("the fast ones are settled") {
                    try await fastOnesAreSettled(in: queue) && dying.counters[.inFlight] == 2
                }
                // To the others it looks dead, and they take over. Its row is locked, so that no heartbeat comes in between.
                let takeover = """
                    WITH dead AS MATERIALIZED (SELECT w.id, w.beat FROM carillon.workers w FOR UPDATE)
                    SELECT sum(t.workers) FROM dead d, carillon.take_over(d.id, d.beat) t
                    """
                #expect(try await queue.database.number(takeover) == 1)
                let backend = HTTP2Backend(.longTimeouts)
                let report = try await queue.drain(backend)
                await backend.shutdown()
                #expect(report.counters.total.sent == 2)
                #expect(try await queue.database.rows(results) == ["(41,1,0,1)", "(42,3,0,1)"])
                // It is not dead, but what it has to say comes too late.
                dying.giveUp()
                let late = try await run.value
                await lost.shutdown()
                #expect(late.counters[.stale] >= 1)
                #expect(late.counters.total.sent == 42)
                #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 42)
                #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
                #expect(try await queue.database.number("SELECT count(*) FROM carillon.scheduled") == 0)
                let pushes = Dictionary(grouping: await simulator.receivedRequests(), by: \.token)
                #expect(pushes.count == 44)
                for (token, sends) in pushes {
                    #expect(sends.count == (token.hasPrefix("51") ? 2 : 1))
                    #expect(Set(sends.map(\.apnsID)).count == 1)
                }
            }
        }
    }

    @Test(.queue)
    func `a connection that is lost between the parts, or under one of them, costs nothing`() async throws {
        try await fill(queue)
        let backend = RemainderBackend()
        let worker = queue.worker(backend)
        let report = try await queue.running(worker) {
            try await queue.loop.eventually("the fast ones are settled") {
                try await fastOnesAreSettled(in: queue)
            }
            try await queue.cutConnections()
            // The second part waits for this table when its connection goes: nobody answers, and nothing was written.
            try await queue.database.run("BEGIN; LOCK TABLE carillon.results IN ACCESS EXCLUSIVE MODE")
            backend.release()
            try await queue.loop.eventually("the rest is being settled") {
                try await queue.database.number(
                    """
                    SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                    WHERE d.datname = current_database() AND NOT l.granted
                    """
                ) > 0
            }
            try await queue.cutConnections()
            try await queue.database.run("COMMIT")
            worker.drain()
        }
        #expect(report.isClean)
        #expect(report.counters[.databaseErrors] > 0)
        #expect(report.counters[.stale] == 0)
        #expect(report.counters.total.sent == 44)
        #expect(try await queue.database.rows(results) == ["(41,1,0,1)", "(42,3,0,1)"])
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 42)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
        #expect(backend.recorded.sent.count == 44)
    }

    @Test(.queue) func `a worker that gives up settles what it knows of both parts`() async throws {
        try await fill(queue)
        let backend = RemainderBackend()
        // A busy machine needs more than the usual time.
        let worker = queue.worker(backend) { $0.giveUpTimeout = .seconds(180) }
        let report = try await queue.running(worker) {
            for await _ in backend.arrivals { break }
            worker.giveUp()
        }
        #expect(report.isClean)
        #expect(report.counters.total.sent == 44)
        #expect(try await queue.database.rows(results) == ["(41,1,0,1)", "(42,3,0,1)"])
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.inflight") == 0)
    }

    @Test(.queue) func `a result that a constraint refuses ends as one failure, and delays no others`() async throws {
        try await fill(queue)
        try await queue.database.run("ALTER TABLE carillon.results ADD CONSTRAINT mine CHECK (message_id <> 7)")
        let backend = RecordedBackend()
        let report = try await queue.drain(backend)
        #expect(report.isClean)
        #expect(report.counters[.unrecorded] == 1)
        #expect(backend.sent.count == 44)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 41)
        #expect(
            try await queue.database.rows("SELECT message_id, status, reason FROM carillon.failures")
                == ["(7,200,Unrecorded)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.inflight") == 0)
    }

    @Test(.queue) func `a first part that is refused is written with the rest`() async throws {
        try await fill(queue)
        try await queue.database.run("ALTER TABLE carillon.results ADD CONSTRAINT mine CHECK (message_id <> 7)")
        let backend = RemainderBackend()
        let worker = queue.worker(backend)
        let report = try await queue.running(worker) {
            for await _ in backend.arrivals { break }
            backend.release()
            worker.drain()
        }
        #expect(report.isClean)
        #expect(report.counters[.unrecorded] == 1)
        #expect(backend.recorded.sent.count == 44)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 41)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
    }
}
