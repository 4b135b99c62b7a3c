import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Dead workers and their claims.
@Suite struct TakeoverCases {
    /// How long after the end of a dead worker's lease its claims are taken over.
    private static let delay = Duration.seconds(3)

    /// Simulates that the database's clock is set: shifts all times in the rows of workers.
    private static func setClock(by interval: String, in scene: Scene) async throws {
        try await scene.client.run(
            """
            UPDATE carillon.workers SET heartbeat_at = heartbeat_at - interval '\(interval)',
                lease_until = lease_until - interval '\(interval)'
            """
        )
    }

    private static func nobodyWasTakenForDead(in scene: Scene) {
        for worker in scene.fleet.all {
            #expect(worker.lines(containing: "considered this worker dead").isEmpty, "\(worker.name)")
            #expect(worker.lines(containing: "Took over the jobs").isEmpty, "\(worker.name)")
        }
    }

    @Test(.scene)
    func `W14: after the database's clock goes forward by an hour no worker counts as dead, nothing is sent twice`()
        async throws
    {
        try await scene.fleet.started(2, lease: .seconds(5))
        try await scene.underLoad {
            for _ in 1...Board.sized(5, full: 50) {
                try await scene.goesOn(300)
                // Also a heartbeat that was written just now looks an hour old.
                try await Self.setClock(by: "1 hour", in: scene)
            }
            // A worker that starts meanwhile sees rows that look dead.
            try await scene.fleet.started(lease: .seconds(5))
            try await scene.goesOn(300)
        }
        try await scene.finish()
        Self.nobodyWasTakenForDead(in: scene)
    }

    @Test func `W15: after the database's clock goes back by an hour a dead worker's claims are taken over on time`()
        async throws
    {
        try await Scene.with({ $0.delay = .milliseconds(300) }) { scene in
            let lease = Duration.seconds(5)
            let most = 200
            let victim = try await scene.fleet.started(
                ["--max-in-flight", "\(most)"],
                lease: lease
            )
            // More than both send before the death, so that the victim holds some.
            try await scene.enqueue(5000)
            try await scene.requests(most / 2)
            let heir = try await scene.fleet.started(["--max-in-flight", "\(most)"], lease: lease)
            try await scene.livesOn(heir, for: .seconds(1))
            victim.kill()
            let death = MonotonicInstant.now
            try await Self.setClock(by: "-1 hour", in: scene)
            try await heir.says("Took over the jobs")
            #expect(MonotonicInstant.now - death < lease + Self.delay)
            try await scene.finish(duplicates: most)
        }
    }

    @Test(.scene)
    func `W16: thousands of small claims of a dead worker are taken over by one statement`() async throws {
        let lease = Board.sized(Duration.seconds(5), full: .seconds(15))
        let victim = try await scene.fleet.started(lease: lease)
        let heir = try await scene.fleet.started(lease: lease)
        try await scene.livesOn(heir, for: .seconds(1))
        victim.freeze()
        // As if it had claimed them one by one.
        try await scene.enqueueHeld(5000, by: victim)
        try await scene.livesOn(heir)
        victim.kill()
        let death = MonotonicInstant.now
        try await scene.eventually("nothing is left of what it held") {
            try await scene.client.number(
                "SELECT count(*) FROM carillon.inflight f WHERE f.claimed_at < now() - interval '1 year'"
            ) == 0
        }
        #expect(MonotonicInstant.now - death < lease + Self.delay)
        try await heir.says("Took over the jobs")
        #expect(heir.lines(containing: "Took over the jobs").count == 1)
        try await scene.finish()
    }

    @Test(.scene)
    func `W17: a database that is silent for longer than a lease costs no worker its lease`() async throws {
        try await scene.withProxy { proxy, url in
            let lease = Duration.seconds(3)
            for _ in 1...2 {
                let worker = try scene.fleet.start(
                    ["--max-in-flight", "300"],
                    lease: lease,
                    database: url
                )
                try await worker.started()
            }
            try await scene.underLoad {
                for _ in 1...Board.sized(2, full: 10) {
                    try await scene.goesOn(500)
                    try await proxy.openBlackHole()
                    try await scene.leasesRanOut(ago: lease)
                    await proxy.closeBlackHole()
                    try await scene.goesOn(500)
                }
            }
            try await scene.finish()
            Self.nobodyWasTakenForDead(in: scene)
        }
    }
}

extension Scene {
    /// Messages in flight at the worker, each in an old claim of its own.
    fileprivate func enqueueHeld(_ count: Int, by worker: WorkerProcess) async throws {
        try await client.session { session in
            try await session.script("BEGIN")
            let messages = try await enqueue(count, on: session)
            try await session.script(
                """
                WITH taken AS (
                    DELETE FROM carillon.messages m WHERE m.reference IN ('\(messages.map(\.reference).joined(separator: "','"))')
                    RETURNING m.*
                )
                INSERT INTO carillon.inflight (worker_id, app_id, claimed_at, jobs)
                SELECT w.id, t.app_id, now() - interval '2 years', ARRAY[json_populate_record(NULL::carillon.job, to_json(t))]
                FROM taken t, carillon.workers w WHERE w.pid = \(worker.processID);
                COMMIT
                """
            )
            ledger.committed(messages)
        }
    }
}
