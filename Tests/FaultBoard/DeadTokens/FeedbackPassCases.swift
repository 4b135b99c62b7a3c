import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Feedback passes that are interrupted, or run beside other work.
@Suite struct FeedbackPassCases {
    private static func tokens(_ prefix: String, _ count: Int) -> [String] {
        (1...count).map { Scene.token(prefix, $0) }
    }

    @Test
    func `F1: messages enqueued during reaping end as APNs says, and no live token is deleted`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "dd=410:Unregistered")] }) { scene in
            try await scene.fleet.started(2, Scene.reaping, lease: Fleet.calm)
            let (good, dead) = (Self.tokens("aa", 200), Self.tokens("dd", 200))
            try await scene.register(good + dead)
            let rounds = 5
            for _ in 0..<rounds {
                let all = (good + dead).joined(separator: ",")
                try await scene.client.run("SELECT carillon.enqueue('board', '{\(all)}', 'x')")
                try await scene.client.run("SELECT carillon.enqueue('board', '{\(dead[0])}', 'y')")
            }
            try await scene.drained()
            try await scene.feedbackIsHandled(rounds * (dead.count + 1))
            #expect(try await scene.registered() == good)
            #expect(try await scene.fleet.stop() == [])
            #expect(
                try await scene.client.text("SELECT (sum(r.sent), sum(r.failed)) FROM carillon.results r")
                    == "(\(rounds * good.count),\(rounds * (dead.count + 1)))"
            )
        }
    }

    @Test(.scene) func `F2: a pass that is killed within a batch is run again, with the same result`() async throws {
        let (live, dead) = (Self.tokens("aa", 100), Self.tokens("dd", 3000))
        try await scene.register(live + dead)
        try await scene.watchSlowTable()
        try await scene.bury(dead)
        try await scene.registerAgain(live)
        let first = try await scene.fleet.started(Scene.reaping)
        try await scene.isInThePassing(of: live.count + dead.count)
        try await scene.client.run(
            """
            SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.query LIKE '%carillon.reap_batch%'
                AND a.pid <> pg_backend_pid()
            """
        )
        try await first.says("will be tried again")
        try await scene.isInThePassing(of: live.count + dead.count)
        first.kill()
        try await scene.fleet.started(Scene.reaping)
        try await scene.feedbackIsHandled(dead.count)
        #expect(try await scene.registered() == live)
        #expect(try await scene.client.number("SELECT count(*) FROM devices") == live.count)
        _ = try await first.end()
        try await scene.finish()
    }

    @Test(.scene) func `F4: deleting many thousand tokens delays no pushes and no registrations`() async throws {
        let count = Board.sized(20_000, full: 1_000_000)
        try await scene.client.run(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update)
            SELECT 1, lpad(to_hex(n), 64, '0'), now() - interval '1 day' FROM generate_series(1, \(count)) n;
            INSERT INTO carillon.feedback (app_id, token, unregistered_at)
            SELECT 1, t.token, now() FROM carillon.tokens t
            """
        )
        try await scene.client.run(
            """
            UPDATE carillon.fleet_tasks SET next_run = now() + interval '1 hour', every = '1 hour';
            UPDATE carillon.apps SET max_rate = 1000
            """
        )
        let worker = try await scene.fleet.started(["--feedback-interval", "1h"], lease: Fleet.calm)
        try await scene.underLoad(depth: 500) {
            try await scene.goesOn(500)
            let before = scene.record.requests
            try await scene.client.run("UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'feedback'")
            let waits = try await self.waits(in: scene, registering: count) {
                worker.lines(containing: "Reaped dead tokens.").isEmpty
            }
            #expect(waits.registered > 0)
            #expect(try await scene.registered().count == waits.registered)
            #expect(scene.record.requests > before)
            // On a busy machine everything takes longer.
            let limit: Int64 = Board.sized(1000, full: 100)
            #expect(waits.registering <= limit && waits.others <= limit, "\(waits)")
        }
        try await scene.finish()
    }

    private struct Waits {
        /// The longest that registering a token took, in milliseconds.
        var registering: Int64 = 0
        /// The longest that another session was seen to wait for a lock, in milliseconds.
        var others: Int64 = 0
        var registered = 0
    }

    /// Registers device tokens while the pass is running, from the last that it will handle to the first.
    private func waits(in scene: Scene, registering last: Int, while isGoingOn: () -> Bool) async throws -> Waits {
        var waits = Waits()
        try await scene.eventually("the pass is over", within: .seconds(900)) {
            guard waits.registered == 0 || isGoingOn() else { return true }
            let longest = try await scene.client.number(
                """
                SELECT coalesce(max(extract(epoch FROM clock_timestamp() - l.waitstart)) * 1000, 0) FROM pg_locks l
                JOIN pg_stat_activity a ON a.pid = l.pid WHERE a.datname = current_database()
                """
            )
            waits.others = max(waits.others, Int64(longest))
            guard waits.registered < last / 2 else { return false }
            let began = MonotonicInstant.now
            try await scene.registerAgain([Scene.token("", last - waits.registered)])
            waits.registered += 1
            waits.registering = max(waits.registering, (MonotonicInstant.now - began).nanoseconds / 1_000_000)
            return false
        }
        return waits
    }

    @Test func `F6: a token that is reported dead many times is deleted once`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "dd=410:Unregistered")] }) { scene in
            let worker = try await scene.fleet.started(Scene.neverReaping, lease: Fleet.calm)
            let dead = Self.tokens("dd", 50)
            try await scene.register(dead)
            for _ in 0..<10 {
                try await scene.client.run("SELECT carillon.enqueue('board', '{\(dead.joined(separator: ","))}', 'x')")
            }
            try await scene.drained()
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.feedback") == 500)
            #expect(try await worker.metric("carillon_reaped_tokens_total") == 0)
            let other = try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            try await scene.feedbackIsHandled(500)
            try await scene.eventually("all are counted") {
                try await other.metric("carillon_reaped_tokens_total") == 50
            }
            #expect(try await scene.registered() == [])
            #expect(try await scene.fleet.stop() == [])
        }
    }

    @Test(.scene) func `F7: when the worker that runs a pass dies, another resumes it at once`() async throws {
        let dead = Self.tokens("dd", 3000)
        try await scene.register(dead)
        try await scene.watchSlowTable()
        try await scene.bury(dead)
        let interval = ["--feedback-interval", "1h"]
        let first = try await scene.fleet.started(interval)
        try await scene.isInThePassing(of: dead.count)
        try await scene.fleet.started(interval)
        first.kill()
        _ = try await first.end()
        try await scene.feedbackIsHandled(dead.count)
        #expect(try await scene.registered() == [])
        // A worker that is told to stop also leaves the pass to others, at once.
        try await scene.fleet.started(interval)
        try await scene.register(dead)
        try await scene.refillSlowTable()
        try await scene.bury(dead)
        try await scene.client.run("UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'feedback'")
        try await scene.isInThePassing(of: dead.count)
        let holder = try await scene.client.number(
            "SELECT w.pid FROM carillon.fleet_tasks c JOIN carillon.workers w ON w.id = c.worker_id"
        )
        let leader = try #require(scene.fleet.running.first { $0.processID == holder })
        #expect(try await leader.stop() == .status(0))
        try await scene.feedbackIsHandled(2 * dead.count)
        #expect(try await scene.registered() == [])
        try await scene.finish()
    }

    @Test(.scene) func `F7, W13: one of many workers runs a pass that is due`() async throws {
        let workers = try await scene.fleet.started(3, ["--feedback-interval", "1h", "--log-level", "debug"])
        func passes() -> Int { workers.reduce(0) { $0 + $1.lines(containing: "feedback pass").count } }
        try await scene.eventually("the pass of the beginning was run") { passes() == 1 }
        for round in 1...Board.sized(3, full: 10) {
            try await scene.client.run("UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'feedback'")
            try await scene.eventually("pass \(round) was run") { passes() > round }
        }
        try await scene.enqueue(100)
        try await scene.finish()
        #expect(passes() == 1 + Board.sized(3, full: 10))
    }
}
