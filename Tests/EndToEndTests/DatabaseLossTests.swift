import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

@Suite(.queue) struct DatabaseLossTests {
    @Test func `outcomes are kept while the connection is gone, and settled once it is back`() async throws {
        try await queue.fill(rows: 100)
        let backend = GateBackend()
        let worker = queue.worker(backend) { options in
            options.once = true
            options.maxInFlight = 60
        }
        let report = try await queue.running(worker) {
            for await _ in backend.arrivals { break }
            try await queue.cutConnections()
            backend.open()
        }
        #expect(report.isClean)
        #expect(report.counters[.databaseErrors] > 0)
        #expect(backend.recorded.sent.count == 100)
        #expect(Set(backend.recorded.sent.map(\.id)).count == 100)
        #expect(try await queue.database.number("SELECT sum(sent) FROM carillon.results") == 100)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.inflight") == 0)
    }

    @Test func `a worker that gives up while it connects does not complain that it broke off`() async throws {
        let cluster = try await TestCluster.shared
        let database = try #require(try await queue.database.rows("SELECT current_database()").first)
        let url = TestLogin.worker.url(cluster.loopbackURL(database: database.filter { !"()".contains($0) }))
        try await Proxy.with(to: cluster.port, on: queue.loop) { proxy in
            let port = await proxy.port
            let events = Guarded<[WorkerEvent]>([])
            let worker = queue.worker(
                GateBackend(),
                { $0.database = DatabaseSource(url.replacing(":\(cluster.port)/", with: ":\(port)/")) },
                events: { event in events.withLock { $0.append(event) } }
            )
            _ = try await queue.running(worker) {
                try await queue.loop.eventually("it has begun") { worker.counters.isConnected }
                let before = await proxy.connections
                try await proxy.openBlackHole()
                await proxy.endAll(by: .reset)
                try await queue.loop.eventually("it connects") { await proxy.connections > before }
                worker.giveUp()
            }
            #expect(events.withLock { $0.map { "\($0)" }.filter { $0.contains("cancelled") } } == [])
            #expect(events.withLock { $0.last?.kind } == .ended)
        }
    }

    @Test func `why a worker cannot come back is said once, and is part of why it is not ready`() async throws {
        let name = "worker_\(UInt32.random(in: 0...UInt32.max))"
        try await queue.database.run("CREATE ROLE \(name) LOGIN PASSWORD 'before'; GRANT carillon_worker TO \(name)")
        try await attempt {
            let database = try #require(try await queue.database.rows("SELECT current_database()").first)
            let inside = database.filter { !"()".contains($0) }
            let address = try #require(
                try await TestCluster.shared.loopbackURL(database: inside).split(separator: "@").last
            )
            let events = Guarded<[String]>([])
            let worker = queue.worker(
                GateBackend(),
                { $0.database = DatabaseSource("postgresql://\(name):before@\(address)") },
                events: { event in
                    if event.kind == .databaseAway { events.withLock { $0.append("\(event.fields)") } }
                }
            )
            let report = try await queue.running(worker) {
                try await queue.loop.eventually("it has begun") { worker.counters.isConnected }
                let before = worker.counters[.databaseErrors]
                // In two transactions: a worker that comes back at once meets the new password.
                try await queue.database.run("ALTER ROLE \(name) PASSWORD 'after'")
                try await queue.cutConnections()
                try await queue.loop.eventually("it has tried again and again") {
                    worker.counters[.databaseErrors] > before + 5
                }
                #expect(events.withLock { $0.count { $0.contains("password authentication failed") } } == 1)
                try await queue.database.run("ALTER ROLE \(name) PASSWORD 'before'")
                // That one of its two connections is lost may be noticed late.
                try await queue.loop.eventually("it is back") { worker.counters.isConnected }
                worker.drain()
            }
            #expect(report.isClean)
        } finally: {
            try await queue.database.run("DROP OWNED BY \(name); DROP ROLE \(name)")
        }
    }
}
