import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// The moment at which a worker is killed. The product has no hook for it: the gateway, the network or a lock in the database
/// stops the worker at that moment.
enum CrashPoint: String, CaseIterable, CustomTestStringConvertible {
    case afterClaim, afterSubmit, afterFirstFrameSent, after200BeforeWrite, beforeCommit, afterCommit, midFanout,
        midFeedbackDelete, duringRenew

    var testDescription: String { rawValue }
}

extension Scene {
    static let maxInFlight = 300

    /// Kills a worker at that point; returns how many pushes may therefore be sent twice.
    func crash(at point: CrashPoint) async throws -> Int {
        switch point {
        case .afterClaim: try await crashAfterClaim()
        case .afterSubmit: try await crashAfterSubmit()
        case .afterFirstFrameSent: try await crash(at: 1, .received)
        case .after200BeforeWrite: try await crash(at: 150, .answered)
        case .beforeCommit: try await crashAtCommit(isDone: false)
        case .afterCommit: try await crashAtCommit(isDone: true)
        case .midFanout: try await crashMidFanout()
        case .midFeedbackDelete: try await crashMidFeedback()
        case .duringRenew: try await crashDuringRenew()
        }
    }

    private func victim() async throws -> WorkerProcess {
        try await fleet.started(["--max-in-flight", "\(Self.maxInFlight)"])
    }

    /// The claim is committed, and the gateway cannot be reached yet.
    private func crashAfterClaim() async throws -> Int {
        try await Proxy.with(to: simulator.port, on: loop) { proxy in
            try await proxy.openBlackHole()
            try await sendVia(proxy.port)
            try await enqueue(500)
            let victim = try await self.victim()
            try await eventually("it claimed") { try await inFlight() > 0 }
            victim.kill()
            try await victim.end()
            #expect(record.requests == 0)
        }
        try await sendVia(simulator.port)
        return 0
    }

    /// The pushes were written to the socket, and have not left the network.
    private func crashAfterSubmit() async throws -> Int {
        let warm = 100
        try await Proxy.with(to: simulator.port, on: loop) { proxy in
            try await sendVia(proxy.port)
            let victim = try await self.victim()
            try await enqueue(warm)
            try await drained()
            try await proxy.openBlackHole()
            try await enqueue(500)
            try await eventually("it has all in flight that it may have") {
                try await victim.metric("carillon_in_flight_pushes") >= 200
            }
            victim.kill()
            try await victim.end()
            // Ending the connection drops what the kernel would send again for the dead worker.
            await proxy.endAll(by: .reset)
        }
        #expect(record.requests == warm)
        try await sendVia(simulator.port)
        return 0
    }

    /// The gateway kills it when it receives or has answered the Nth request.
    private func crash(at number: Int, _ moment: Arrivals.Moment) async throws -> Int {
        let victim = try await self.victim()
        record.at(number, moment) { victim.kill() }
        try await enqueue(1000)
        #expect(try await victim.end() == .signal(9))
        return Self.maxInFlight
    }

    /// All is answered, and the settlement waits for a lock: it is rolled back, or committed after the worker's death.
    private func crashAtCommit(isDone: Bool) async throws -> Int {
        let count = 10
        // ONLY: the partitions stay unlocked, since their lock would block maintenance, and with it all later statements.
        let lock = "BEGIN; LOCK TABLE ONLY carillon.results IN SHARE MODE"
        try await client.session { session in
            try await session.script(lock)
            // One message, so that it is one claim.
            try await enqueue(1, tokens: count)
            let victim = try await self.victim()
            try await waitsForLock("carillon.settle")
            if isDone {
                // It no longer receives answers. A settlement whose lock timeout has expired is written again.
                victim.freeze()
                try await session.script("ROLLBACK")
                while try await !settlementWasCommitted() {
                    try await session.script(lock)
                    victim.resume()
                    try await waitsForLock("carillon.settle")
                    victim.freeze()
                    try await session.script("ROLLBACK")
                }
            }
            victim.kill()
            try await victim.end()
            // A machine that dies takes its connections along. When only a process dies, PostgreSQL has to detect it.
            if !isDone {
                try await cutWorkers()
                try await session.script("ROLLBACK")
            }
        }
        #expect(record.requests == count)
        return isDone ? 0 : count
    }

    /// While a message with many tokens is being split into jobs, and again while those are being sent.
    private func crashMidFanout() async throws -> Int {
        try await client.session { session in
            try await session.script("BEGIN; LOCK TABLE carillon.unfinished IN SHARE MODE")
            try await enqueue(1, tokens: 3000)
            let victim = try await self.victim()
            try await waitsForLock("carillon.split")
            victim.kill()
            try await victim.end()
            try await cutWorkers()
            try await session.script("ROLLBACK")
        }
        let second = try await self.victim()
        record.at(1500, .received) { second.kill() }
        #expect(try await second.end() == .signal(9))
        return Self.maxInFlight
    }

    /// The session of the feedback pass is lost within it; the next pass does all of it.
    private func crashMidFeedback() async throws -> Int {
        try await client.run(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update)
            SELECT 1, lpad(to_hex(n), 64, '0'), '2026-01-01'::timestamptz + n % 2 * interval '2 days'
            FROM generate_series(1, 200) n;
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, source)
            SELECT 1, lpad(to_hex(n), 64, '0'), '2026-01-02', 'Unregistered', 'http2' FROM generate_series(1, 200) n;
            CREATE SEQUENCE dawdled;
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM nextval('public.dawdled'), count(*) FROM generate_series(1, 300000);
                RETURN OLD;
            END $$;
            CREATE TRIGGER dawdle BEFORE DELETE ON carillon.tokens FOR EACH ROW EXECUTE FUNCTION dawdle()
            """
        )
        let tokens = "SELECT count(*) FROM carillon.tokens"
        let pass = Task {
            try await client.session { try await $0.script("SELECT carillon.reap() -- the pass") }
        }
        try await eventually("the pass deletes") {
            try await client.number("SELECT coalesce((SELECT d.last_value FROM dawdled d WHERE d.is_called), 0)")
                > 1
        }
        try await client.run(Self.cut("a.query LIKE '%-- the pass'"))
        let end = await #expect(throws: PostgresError.self) { try await pass.value }
        #expect(end?.sqlState == "57P01")
        try await client.run("DROP TRIGGER dawdle ON carillon.tokens")
        #expect(try await client.number(tokens) == 200)
        try await client.run("SELECT carillon.reap()")
        // Those with odd numbers were registered again after Apple had reported them dead.
        #expect(try await client.number(tokens) == 100)
        #expect(try await client.number("SELECT count(*) FROM carillon.feedback f WHERE f.handled_at IS NULL") == 0)
        return 0
    }

    /// Its heartbeat waits for a lock, and so does all that follows on its connection.
    private func crashDuringRenew() async throws -> Int {
        let victim = try await self.victim()
        try await enqueue(2000)
        try await requests(100)
        try await client.session { session in
            try await session.script("BEGIN; SELECT FROM carillon.workers FOR UPDATE")
            try await waitsForLock("UPDATE carillon.workers")
            victim.kill()
            try await victim.end()
            try await cutWorkers()
            try await session.script("ROLLBACK")
        }
        return Self.maxInFlight
    }

    // MARK: Parts

    /// Whether it was settled, once no settlement is running.
    private func settlementWasCommitted() async throws -> Bool {
        try await eventually("no settlement is being written") {
            try await client.number(
                """
                SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database() AND a.state = 'active'
                    AND a.query LIKE '%carillon.settle%' AND a.pid <> pg_backend_pid()
                """
            ) == 0
        }
        return try await client.number("SELECT count(*) FROM carillon.results") == 1
    }

    private func inFlight() async throws -> Int {
        try await client.number("SELECT count(*) FROM carillon.inflight")
    }

    func sendVia(_ port: UInt16) async throws {
        try await client.run("UPDATE carillon.apps SET gateway = 'localhost:\(port)'")
    }

    private func cutWorkers() async throws {
        try await client.run(Self.cut("a.application_name LIKE 'carillon%'"))
    }

    private static func cut(_ condition: String) -> String {
        """
        SELECT pg_terminate_backend(a.pid, 10000) FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND \(condition)
        """
    }
}
