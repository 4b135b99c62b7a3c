import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Things that happen again and again, for as long as a worker lives. In full, each is repeated many times more.
@Suite struct EnduranceCases {
    @Test func `L2: connections that open and close without end leave nothing behind in a worker`() async throws {
        try await Scene.with({
            $0.goAwayAfter = 1
            $0.delay = .zero
        }) { scene in
            // Each app has a connection of its own, and one after the other.
            let names = (1...Board.sized(20, full: 50)).map { "app\($0)" }
            for name in names { try await scene.addApp(name, topic: Scene.topic, to: scene.simulator) }
            let worker = try await scene.fleet.started(["--connections", "1"], lease: Fleet.calm)
            let rounds = 10
            let cycles = Board.sized(2, full: 40)
            var curve = UsageCurve()
            for _ in 1...rounds {
                for name in names { try await scene.enqueue(cycles, app: name) }
                try await scene.drained(within: .seconds(240))
                curve.append(try #require(Usage(of: worker.processID)))
            }
            let connections = await scene.simulator.statistics().connections
            #expect(connections >= rounds * cycles * names.count)
            // In a short run a leak would not show in the memory. LeakSanitizer looks for it at the worker's end.
            if Board.isFull { #expect(curve.growth(of: \.memory) <= 1.05) }
            #expect(curve.growth(of: \.threads) <= 1)
            #expect(
                curve.median(of: \.descriptors, inFifth: 4)
                    <= curve.median(of: \.descriptors, inFifth: 1) + names.count
            )
            try await scene.finish()
        }
    }

    @Test(.scene)
    func `L3: hundreds of apps that rarely send have no more connections than those that sent just now`() async throws {
        let apps = Board.sized(90, full: 1000)
        let atOnce = 30
        let names = (1...apps).map { "rare\($0)" }
        for name in names { try await scene.addApp(name, topic: Scene.topic, to: scene.simulator) }
        let worker = try await scene.fleet.started(["--idle-timeout", "1s"], lease: Fleet.calm)
        let before = try #require(Usage(of: worker.processID)).descriptors
        var most = 0
        for begin in stride(from: 0, to: apps, by: atOnce) {
            let some = names[begin..<min(begin + atOnce, apps)]
            for name in some { try await scene.enqueue(1, app: name) }
            try await scene.requests(begin + some.count)
            most = max(most, try #require(Usage(of: worker.processID)).descriptors - before)
            try await scene.eventually(
                "the idle connections were closed",
                within: Board.sized(.seconds(60), full: .seconds(20))
            ) {
                await scene.simulator.statistics().openConnections == 0
            }
        }
        #expect(await scene.simulator.statistics().connections >= apps)
        #expect(most <= 2 * atOnce, "\(most) descriptors more than without connections")
        #expect(try #require(Usage(of: worker.processID)).descriptors <= before + 2)
        #expect((worker.mostMemory ?? 0) < 200 << 20 || Sanitizer.isLoaded)
        try await scene.finish()
    }

    @Test func `L4: a certificate that is replaced every few seconds under load costs no push`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(20) }) { scene in
            let connections = 2
            let worker = try await scene.fleet.started(
                ["--connections", "\(connections)", "--max-in-flight", "500"],
                lease: Fleet.calm
            )
            var curve = UsageCurve()
            try await scene.underLoad(depth: 500) {
                for round in 1...Board.sized(10, full: 20) {
                    let due = MonotonicInstant.now + Board.sized(.zero, full: .seconds(5))
                    try await scene.replaceCertificate(name: "round \(round)")
                    try await scene.goesOn()
                    try await scene.eventually("the next certificate is due") { .now >= due }
                    curve.append(try #require(Usage(of: worker.processID)))
                }
            }
            try await scene.credential(is: "ok")
            #expect(
                curve.median(of: \.descriptors, inFifth: 4)
                    <= curve.median(of: \.descriptors, inFifth: 1) + connections
            )
            #expect(try await scene.finish().outcomes.failures.isEmpty)
        }
    }

    @Test(.scene)
    func `L5: after a long idle time in which its connections died unnoticed, a burst is sent once and soon`()
        async throws
    {
        let idle: Duration = Board.sized(.seconds(2), full: .seconds(60))
        try await scene.withProxyToGateway { proxy in
            let worker = try await scene.fleet.started(["--idle-timeout", "2h"], lease: .seconds(6))
            try await scene.enqueue(200)
            try await scene.drained()
            let before = await proxy.connections
            #expect(await scene.simulator.statistics().openConnections > 0)
            try await proxy.forgetConnections()
            try await scene.livesOn(worker, for: idle)
            try await scene.enqueue(500)
            // Longer than a ping takes to fail, and a new connection to be made.
            try await scene.finish(within: Board.sized(.seconds(120), full: .seconds(30)))
            #expect(await proxy.connections > before)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
        }
    }

    @Test func `L6: the tables of the queue do not grow with the jobs that pass through, and claims stay fast`()
        async throws
    {
        // In full, autovacuum must keep up; it is looked for every second, since all of it happens within minutes.
        let settings = PrivateCluster.Settings(isDurable: false, parameters: ["autovacuum_naptime": "1s"])
        try await Scene.with(on: .own(settings), { $0.delay = .zero }) { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            let jobs = Board.sized(5000, full: 40_000)
            var rounds: [(bytes: Int, took: Duration)] = []
            for _ in 1...Board.sized(6, full: 8) {
                // All of them wait at once in each round.
                worker.freeze()
                try await scene.enqueue(jobs)
                let begin = MonotonicInstant.now
                worker.resume()
                try await scene.drained(within: .seconds(240))
                rounds.append((try await scene.client.number(Self.bytes), MonotonicInstant.now - begin))
                // Nothing may keep a vacuum from removing the dead rows.
                if !Board.isFull { try await scene.client.run("VACUUM carillon.messages, carillon.inflight") }
            }
            let sizes = rounds.map(\.bytes)
            let most = Board.sized(sizes[0] * 3 / 2, full: sizes[0] * 4)
            #expect(sizes.allSatisfy { $0 <= most }, "\(sizes)")
            let times = rounds.map(\.took)
            #expect((times[3...].min() ?? .zero) <= (times[..<3].max() ?? .zero) * 2, "\(times)")
            print("fault board: L6: \(sizes) bytes, \(times)")
            try await scene.finish()
        }
    }

    /// Of all tables through which jobs pass, with their indexes.
    private static let bytes = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.oid = ANY (\(tables))"

    private static let tables = """
        ARRAY['carillon.messages', 'carillon.inflight', 'carillon.scheduled', 'carillon.unfinished', \
        'carillon.split_messages', 'carillon.workers']::regclass[]
        """
}
