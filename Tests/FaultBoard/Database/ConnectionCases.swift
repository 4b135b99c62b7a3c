import CarillonIO
import TestSupport
import Testing

/// Faults between a worker and its database.
@Suite(.scene) struct ConnectionCases {
    /// How long `/readyz` may take to be correct (I14).
    private static let moment = Board.sized(Duration.seconds(30), full: .seconds(5))

    @Test func `D1: workers whose sessions are ended again and again come back and lose nothing`() async throws {
        try await scene.fleet.started(2, lease: Fleet.calm)
        try await scene.underLoad {
            for _ in 1...Board.sized(3, full: 20) {
                try await scene.goesOn(200)
                try await scene.renewSessions()
            }
        }
        try await scene.finish()
    }

    @Test func `D4: when the database connection is cut at any byte, even within a commit, each push is settled once`()
        async throws
    {
        try await scene.withProxy { proxy, url in
            let worker = try scene.fleet.start(["--max-in-flight", "200"], database: url)
            try await worker.started()
            let cuts = Board.sized(12, full: 120)
            var random = SeededGenerator(seed: Board.seed)
            try await scene.underLoad {
                for number in 1...cuts {
                    let direction: Proxy.Direction = number.isMultiple(of: 3) ? .up : .down
                    await proxy.cut(direction, afterBytes: Int.random(in: 1...6000, using: &random))
                    try await scene.eventually("cut \(number)") { await proxy.cuts >= number }
                }
            }
            // There is no other worker to take over, so not even pushes in flight are sent again.
            try await scene.finish()
        }
    }

    @Test func `D5: a worker that cannot reach its database sends nothing once its lease has run out`() async throws {
        try await scene.withProxy { proxy, url in
            let worker = try scene.fleet.start(["--max-in-flight", "500"], database: url)
            try await worker.started()
            try await scene.underLoad {
                try await scene.requests(500)
                try await proxy.openBlackHole()
                try await scene.eventually("the worker was not ready", within: Self.moment) {
                    await !worker.isReady()
                }
                // Time for what is on its way to the gateway.
                try await scene.leasesRanOut(ago: .seconds(1))
                let silent = scene.record.requests
                try await scene.leasesRanOut(ago: Fleet.lease * 2 + .seconds(1))
                #expect(scene.record.requests == silent)
                if Board.isFull {
                    try await worker.says("The connection to the database was lost", within: .seconds(12))
                }
                await proxy.closeBlackHole()
                try await scene.goesOn(within: Board.sized(.seconds(180), full: .seconds(40)))
            }
            try await scene.finish(duplicates: 500)
        }
    }

    @Test
    func `D6: a round trip of half a second to the database slows a worker down, and costs it no lease`() async throws {
        try await scene.withProxy { proxy, url in
            let lease = Board.sized(Duration.seconds(6), full: Fleet.lease)
            let worker = try scene.fleet.start(lease: lease, database: url)
            try await worker.started()
            await proxy.delay(by: .milliseconds(250))
            try await scene.enqueue(Board.sized(3000, full: 20_000))
            try await scene.drained()
            try await scene.livesOn(worker, for: lease * 2)
            #expect(worker.lines(containing: "considered this worker dead").isEmpty)
            try await scene.finish()
        }
    }

    @Test func `D7: a worker without a database connection backs off, logs it, and recovers`() async throws {
        let name = "worker_\(scene.database)"
        try await scene.client.run("CREATE ROLE \(name) LOGIN; GRANT carillon_worker TO \(name)")
        let worker = try scene.fleet.start(database: scene.client.url + "&user=\(name)")
        try await worker.started()
        try await scene.eventually("the worker was ready") { await worker.isReady() }
        try await scene.client.run("ALTER ROLE \(name) CONNECTION LIMIT 0")
        try await scene.terminateWorkers()
        try await scene.eventually("the worker was not ready", within: Self.moment) { await !worker.isReady() }
        try await scene.enqueue(1000)
        // Each wait is up to twice as long as the one before.
        #expect(try await worker.metric("carillon_database_errors_total", restsFor: .milliseconds(500)) <= 12)
        try await scene.client.run("ALTER ROLE \(name) CONNECTION LIMIT -1")
        try await scene.eventually("the worker was ready again", within: Board.sized(.seconds(60), full: .seconds(15)))
        {
            await worker.isReady()
        }
        try await scene.finish()
    }

    @Test(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
    func `D13: behind PgBouncer in transaction mode, with fewer connections than workers, all works`() async throws {
        try await TestPooler.with(size: 2, as: .worker, before: scene.cluster, on: scene.loop) { pooler in
            for _ in 1...4 {
                _ = try scene.fleet.start(lease: Fleet.calm, database: pooler.url(database: scene.database))
            }
            for worker in scene.fleet.all { try await worker.started() }
            try await scene.enqueue(Board.sized(3000, full: 20_000))
            try await scene.underLoad { try await scene.goesOn(1000) }
            let errors = scene.fleet.all.reduce(0) { $0 + $1.lines(containing: "A statement failed").count }
            #expect(errors == 0)
            try await scene.finish()
        }
    }
}
