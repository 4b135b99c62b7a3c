import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Testing

/// Many workers at once.
@Suite struct CrowdCases {
    @Test func `W9: eight workers that start at once share the work evenly, without warnings`() async throws {
        // With a gateway this slow, the limit of pushes in flight decides a worker's rate.
        try await Scene.with({ $0.delay = .milliseconds(300) }) { scene in
            let crowd = 8
            try await scene.enqueue(200)
            for _ in 0..<crowd { _ = try scene.fleet.start(["--max-in-flight", "30"], lease: Fleet.calm) }
            for worker in scene.fleet.all { try await worker.started() }
            try await scene.drained()
            let sent = try await shares(of: scene)
            try await scene.enqueue(Board.sized(4000, full: 12_000))
            let complaints = scene.fleet.all.flatMap {
                $0.lines(containing: #""level":"error""#) + $0.lines(containing: #""level":"warning""#)
            }
            #expect(complaints == [])
            try await scene.finish()
            let shares = try await self.shares(of: scene).map { ($0.key, $0.value - sent[$0.key, default: 0]) }
            #expect(shares.count == crowd)
            let mean = shares.reduce(0) { $0 + $1.1 } / crowd
            for (worker, share) in shares {
                #expect(
                    share * 2 >= mean && share * 2 <= mean * 3,
                    "worker \(worker) sent \(share), the mean is \(mean)"
                )
            }
        }
    }

    /// How many pushes each worker has sent, by its own count.
    private func shares(of scene: Scene) async throws -> [Int64: Int] {
        let rows = try await scene.client.query(
            "SELECT a.worker_id, sum(a.sent)::int8 FROM carillon.push_counts a GROUP BY a.worker_id"
        ) { rows in try rows.indices.map { (try rows.int64($0, 0), Int(try rows.int64($0, 1))) } }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// There is one version so far: only the processes are replaced.
    @Test(.scene) func `W10: a rolling restart under load fails nothing and sends nothing twice`() async throws {
        try await scene.fleet.started(3, lease: Fleet.calm)
        try await scene.underLoad {
            for _ in 0..<Board.sized(1, full: 5) {
                for old in scene.fleet.running {
                    try await scene.goesOn(200)
                    try await scene.fleet.started(lease: Fleet.calm)
                    #expect(try await old.stop() == .status(0))
                }
            }
        }
        try await scene.finish()
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
    }

    @Test(.scene) func `W13: of two workers that race for a task of the fleet exactly one does it`() async throws {
        let done = { @Sendable in
            scene.fleet.all.reduce(0) { $0 + $1.lines(containing: "Maintenance has succeeded").count }
        }
        // Workers that sleep would come one after the other. Without one of these triggers, they stay awake, and ask whether the task
        // is due every third of their lease.
        try await scene.client.run("ALTER TABLE carillon.channels DISABLE TRIGGER wake_sleepers")
        try await scene.fleet.started(2, ["--log-level", "debug"], lease: .seconds(6))
        try await scene.eventually("the first maintenance was done") { done() == 1 }
        var (runs, races) = (1, 0)
        while races < Board.sized(2, full: 10) {
            let before = runs
            try await scene.client.session { session in
                // Both see that it is due while the table is locked, and compete for it when the lock is released. Neither may wait for
                // two seconds, because it would then try again only after a minute.
                try await session.script(
                    "UPDATE carillon.fleet_tasks SET next_run = now() + interval '3 s' WHERE name = 'maintain'"
                )
                try await session.script("BEGIN; LOCK TABLE carillon.fleet_tasks IN EXCLUSIVE MODE")
                var waiting = 0
                var end: MonotonicInstant?
                try await scene.eventually("both wait for the lock, or one has waited for long") {
                    waiting = try await scene.statementsWaitingForLock("UPDATE carillon.fleet_tasks")
                    if waiting > 0, end == nil { end = .now + .milliseconds(1500) }
                    return waiting == 2 || done() > before || end.map { $0 < .now } == true
                }
                if waiting == 2 { races += 1 }
                try await session.script("COMMIT")
            }
            try await scene.eventually("maintenance was done") { done() > runs }
            runs += 1
        }
        try await scene.enqueue(100)
        try await scene.finish()
        #expect(done() == runs)
    }
}
