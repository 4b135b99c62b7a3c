import ApplePush
import IO
import Simulator

/// What is left of the throughput far away, where windows and streams bound it: pushes of 4 KB 200 ms away through windows
/// of 65,535 bytes, small pushes 50 ms away through 1,000 streams, and single pushes beside a message of 100,000 tokens.
struct DistanceBenchmark {
    let pushes: Int
    /// Of the one message beside which single pushes are sent, and how many of those: 100,000 and 200 at the usual size.
    private var largeMessage: Int { self.pushes * 50 / 3 }
    private var singlePushes: Int { max(1, self.pushes / 30) }
    private static let window = 65_535
    private static let streams = 1_000

    func run(into report: inout Report) async throws {
        try await self.windows(into: &report)
        try await self.streams(into: &report)
        try await self.turns(into: &report)
    }

    private func windows(into report: inout Report) async throws {
        let distance = Duration.milliseconds(200)
        let payload = Volley.payload(of: 4_096)
        try await Self.with(distance) { scene in
            // Until there are as many connections as there may be.
            try await scene.send(self.pushes / 4, payload)
            let seconds = try await scene.send(self.pushes, payload)
            let statistics = await scene.simulator.statistics()
            let sent = self.pushes / 4 + self.pushes
            let bytes = Double(Self.window * scene.connections) / (distance / .seconds(1))
            report.note("200 ms away, 4 KB: pushes a second", Report.grouped(Double(self.pushes) / seconds))
            report.ratio(
                "  of window / round trip x \(scene.connections) connections",
                Double(self.pushes * payload.count) / seconds / bytes,
                atLeast: 0.9
            )
            report.count("  pushes that came twice", Int(statistics.requests) - sent, atMost: 0)
            report.count("  connections made", statistics.connections, atMost: 6)
        }
    }

    private func streams(into report: inout Report) async throws {
        let distance = Duration.milliseconds(50)
        let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)
        try await Self.with(distance) { scene in
            try await scene.warmUp(to: Self.streams * scene.connections, payload)
            let pushes = self.pushes * 100
            let rate = Double(pushes) / (try await scene.send(pushes, payload))
            let most = Double(Self.streams * scene.connections) / (distance / .seconds(1))
            report.note("50 ms away, 25 bytes: pushes a second", Report.grouped(rate))
            report.ratio("  of streams x \(scene.connections) connections / round trip", rate / most, atLeast: 0.9)
        }
    }

    /// A gateway that takes 8,000 pushes a second: 100 streams of 4 connections, 50 ms away.
    private func turns(into report: inout Report) async throws {
        let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)
        try await Self.with(.milliseconds(50), streams: 100) { scene in
            try await scene.warmUp(to: 100 * scene.connections, payload)
            let large = Volley(pushes: self.largeMessage, payload: payload).batch(0, of: self.largeMessage)
            let times = try await withThrowingTaskGroup(of: Double?.self) { group in
                group.addTask {
                    try Volley.check(
                        await scene.backend.deliver(large, to: scene.gateway, with: scene.credential)
                    )
                    return nil
                }
                var times: [Double] = []
                var number = self.largeMessage / Volley.batchSize + 1
                while times.count < self.singlePushes {
                    let single = Volley(pushes: 1, payload: payload).batch(number, of: 1)
                    number += 1
                    let start = MonotonicInstant.now
                    try Volley.check(
                        await scene.backend.deliver(single, to: scene.gateway, with: scene.credential)
                    )
                    times.append((MonotonicInstant.now - start) / .milliseconds(1))
                }
                try await group.waitForAll()
                return times.sorted()
            }
            let name = "a single push beside \(Report.grouped(Double(self.largeMessage))), median"
            report.time(name, times[times.count / 2], atMost: 500)
            report.time("  p99", times[times.count * 99 / 100], atMost: 1_000)
        }
    }

    /// A simulator that far away, and a sender as it comes.
    private struct Scene {
        let simulator: APNsSimulator
        let gateway: Gateway
        let credential: Credential
        let backend: HTTP2Backend
        let connections: Int

        /// Sends so many in one delivery and says how many seconds that took; every one must be delivered.
        @discardableResult
        func send(_ count: Int, _ payload: [UInt8]) async throws -> Double {
            let batch = Volley(pushes: count, payload: payload).batch(0, of: count)
            let start = MonotonicInstant.now
            try Volley.check(await self.backend.deliver(batch, to: self.gateway, with: self.credential))
            return (MonotonicInstant.now - start) / .seconds(1)
        }

        /// Sends until there are as many connections as there may be, and each takes all that the gateway allows: what is
        /// measured afterwards is how it goes on, and not how it begins.
        func warmUp(to capacity: Int, _ payload: [UInt8]) async throws {
            for _ in 0..<100 {
                let batch = Volley(pushes: capacity * 5, payload: payload).batch(0, of: capacity * 5)
                let delivered = await self.backend.deliver(
                    batch,
                    to: self.gateway,
                    with: self.credential,
                    terms: DeliveryTerms()
                )
                try Volley.check(delivered.outcomes)
                if delivered.capacity == capacity { return }
            }
            throw BenchmarkError("The sender never came to \(capacity) pushes at a time.")
        }
    }

    private static func with(
        _ distance: Duration,
        streams: UInt32? = nil,
        _ body: (Scene) async throws -> Void
    ) async throws {
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.providerKeys = [try team.providerKey()]
        configuration.distance = distance
        configuration.window = Self.window
        configuration.maximumStreams = streams
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let limits = HTTP2Configuration()
        let backend = HTTP2Backend(limits)
        do {
            try await body(
                Scene(
                    simulator: simulator,
                    gateway: Gateway(host: "127.0.0.1", port: simulator.port, trust: .pem(simulator.rootPEM)),
                    credential: team.credential,
                    backend: backend,
                    connections: limits.connections
                )
            )
        } catch {
            await backend.shutdown()
            await simulator.stop()
            throw error
        }
        await backend.shutdown()
        await simulator.stop()
    }
}
