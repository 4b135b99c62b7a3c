import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Workers that die.
@Suite struct CrashCases {
    @Test(.scene, arguments: CrashPoint.allCases)
    func `W1: a worker killed at any point loses nothing, and only pushes in flight are sent twice`(point: CrashPoint)
        async throws
    {
        let duplicates = try await scene.crash(at: point)
        try await scene.fleet.started()
        let audit = try await scene.finish(duplicates: duplicates)
        // Exactly those pushes are sent again that the gateway had accepted, and whose settlement was not committed.
        if point == .beforeCommit { #expect(audit.duplicates == duplicates) }
    }

    @Test(.scene)
    func `W1: a push that may have arrived before a kill is sent again with a collapse id, if the app wants that`()
        async throws
    {
        try await scene.client.run("UPDATE carillon.apps SET collapse_unknown = true")
        let duplicates = try await scene.crash(at: .beforeCommit)
        try await scene.fleet.started()
        let audit = try await scene.finish(duplicates: duplicates)
        #expect(audit.duplicates > 0)
        var seen: Set<String> = []
        for delivery in scene.record.deliveries {
            let isFirst = seen.insert(delivery.token).inserted
            #expect(delivery.collapseID == (isFirst ? nil : delivery.apnsID))
        }
    }

    @Test(.scene) func `W2: workers killed at random under load lose nothing, and the others finish`() async throws {
        let most = 500
        let kills = Board.sized(4, full: 30)
        var random = SeededGenerator(seed: Board.seed)
        var youngest = try await scene.fleet.started(3, ["--max-in-flight", "\(most)"])[2]
        try await scene.underLoad {
            for _ in 0..<kills {
                // That is two seconds.
                try await scene.livesOn(youngest, for: Fleet.lease)
                let running = scene.fleet.running
                #expect(running.count == 3)
                try #require(running.randomElement(using: &random)).kill()
                youngest = try await scene.fleet.started(["--max-in-flight", "\(most)"])
            }
        }
        try await scene.finish(duplicates: most * kills, within: Board.sized(.seconds(180), full: .seconds(12)))
    }

    /// Each kill is measured: what the victim had in flight may be sent twice, and nothing else.
    @Test
    func `W25: of thirty workers with a hundred kills nothing is lost, and only what was in flight is sent twice`()
        async throws
    {
        let ground: Scene.Ground = Board.sized(.shared, full: .own(.fast))
        try await Scene.with(on: ground, { $0.delay = .seconds(2) }) { scene in
            let most = 100
            let flags = ["--max-in-flight", "\(most)"]
            let lease = Duration.seconds(15)
            var random = SeededGenerator(seed: Board.seed)
            var inFlight = 0
            try await scene.fleet.started(Board.sized(5, full: 30), flags, lease: lease)
            try await scene.underLoad {
                for _ in 0..<Board.sized(6, full: 100) {
                    try await scene.goesOn(100)
                    let victim = try #require(scene.fleet.running.randomElement(using: &random))
                    victim.freeze()
                    inFlight += try await scene.client.number(
                        """
                        SELECT coalesce(sum(cardinality(j.tokens)), 0) FROM carillon.workers w
                        JOIN carillon.inflight f ON f.worker_id = w.id, unnest(f.jobs) AS j WHERE w.pid = \(victim.processID)
                        """
                    )
                    victim.kill()
                    try await victim.end()
                    try await scene.fleet.started(flags, lease: lease)
                }
            }
            try await scene.drained()
            // A worker that did not run for a whole lease, on a busy machine, rightly counts as dead.
            let late = scene.fleet.all.reduce(0) { $0 + $1.lines(containing: "considered this worker dead").count }
            try await scene.finish(duplicates: inFlight + late * most)
        }
    }

    /// When the worker runs out of memory, it ends; when libpq does, it stays and can do nothing.
    @Test(.scene, .disabled(if: Sanitizer.isLoaded, "a sanitizer needs memory of its own"), arguments: [1000, 100])
    func `W7: a worker that runs out of memory says so, ends when told, and withholds nothing from the others`(
        tokens: Int
    ) async throws {
        let most = 8000
        let victim = try await scene.fleet.started(["--max-in-flight", "\(most)"])
        try await scene.enqueue(100)
        try await scene.requests(100)
        // By RLIMIT_DATA, since a test cannot change control groups: from now on it gets no further page.
        let words = ["--pid", "\(victim.processID)", "--data=1048576"]
        let prlimit = try ChildProcess(ChildProcess.Command("prlimit", words))
        #expect(try await prlimit.wait(on: scene.loop) == .status(0))
        // It reads the credential again, too.
        try await scene.client.run("UPDATE carillon.certificates SET certificate = certificate || chr(10)")
        try await scene.enqueue(Board.sized(6000, full: 50_000) / tokens, tokens: tokens)
        try await scene.eventually("the victim has no memory") {
            !victim.isRunning || victim.said.contains("memory")
        }
        try await scene.fleet.started()
        try await scene.drained()
        let (wasRunning, exit) = (victim.isRunning, try await victim.stop())
        print("fault board: W7: \(wasRunning ? "told to end" : "by itself"): \(exit)")
        #expect(
            exit == .status(70) || wasRunning && [.status(0), .status(75)].contains(exit),
            "\(exit): \(victim.last)"
        )
        #expect(exit != .status(70) || victim.said.contains("there is not enough memory"), "\(victim.last)")
        #expect(!victim.said.contains("may have been cut"), "\(victim.last)")
        let statuses = try await scene.client.number(
            "SELECT count(*) FROM carillon.certificates WHERE status IN ('invalid', 'rejected')"
        )
        #expect(statuses == 0)
        try await scene.finish(duplicates: most)
    }
}
