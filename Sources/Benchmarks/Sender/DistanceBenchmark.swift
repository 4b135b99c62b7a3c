import ApplePush
import ApplePushSimulator
import CarillonIO

/// Throughput to a distant gateway, where windows and streams limit it: pushes of 4 KB at 200 ms with windows of 65,535 bytes,
/// small pushes at 50 ms with 1,000 streams, and single pushes beside a message of 100,000 tokens.
struct DistanceBenchmark {
    let pushes: Int
    /// The size of the one message, and the number of single pushes beside it: 100,000 and 200 at the usual size.
    private var largeMessage: Int { pushes * 50 / 3 }
    private var singlePushes: Int { max(1, pushes / 30) }
    private static let window = 65_535
    private static let streams = 1_000
    private static let connections = HTTP2Configuration().connections
    private static let smallPayload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    func run(into report: inout Report) async throws {
        try await windows(into: &report)
        try await streams(into: &report)
        try await turns(into: &report)
    }

    private func windows(into report: inout Report) async throws {
        let distance = Duration.milliseconds(200)
        let payload = Volley.payload(of: 4_096)
        try await Self.with(distance) { simulated, sender in
            // Send until all connections are open.
            try await Self.send(pushes / 4, payload, simulated, sender)
            let seconds = try await Self.send(pushes, payload, simulated, sender)
            let statistics = await simulated.simulator.statistics()
            let repeated = Int(statistics.requests) - pushes / 4 - pushes
            let bytes = Double(Self.window * Self.connections) / (distance / .seconds(1))
            let share = Double(pushes * payload.count) / seconds / bytes
            report.add("200 ms away, 4 KB: pushes a second", Double(pushes) / seconds, .rate)
            report.add("  of window / round trip x \(Self.connections) connections", share, .ratio, .atLeast(0.9))
            report.add("  pushes that came twice", Double(repeated), .count, .atMost(0))
            report.add("  connections made", Double(statistics.connections), .count, .atMost(6))
        }
    }

    private func streams(into report: inout Report) async throws {
        let distance = Duration.milliseconds(50)
        try await Self.with(distance) { simulated, sender in
            try await Self.warmUp(to: Self.streams * Self.connections, simulated, sender)
            let rate = Double(pushes * 100) / (try await Self.send(pushes * 100, Self.smallPayload, simulated, sender))
            let most = Double(Self.streams * Self.connections) / (distance / .seconds(1))
            report.add("50 ms away, 25 bytes: pushes a second", rate, .rate)
            let name = "  of streams x \(Self.connections) connections / round trip"
            report.add(name, rate / most, .ratio, .atLeast(0.9))
        }
    }

    /// A gateway that accepts 8,000 pushes a second: 100 streams on each of 4 connections, 50 ms away.
    private func turns(into report: inout Report) async throws {
        try await Self.with(.milliseconds(50), streams: 100) { simulated, sender in
            try await Self.warmUp(to: 100 * Self.connections, simulated, sender)
            let large = Volley(pushes: largeMessage, payload: Self.smallPayload).batch(0, of: largeMessage)
            let times = try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await simulated.send(large, by: sender) }
                var times: [Double] = []
                let first = largeMessage / Volley.batchSize + 1
                for number in first..<first + singlePushes {
                    let single = Volley(pushes: 1, payload: Self.smallPayload).batch(number, of: 1)
                    let start = MonotonicInstant.now
                    try await simulated.send(single, by: sender)
                    times.append(start.age * 1000)
                }
                try await group.waitForAll()
                return Sample(times)
            }
            let name = "a single push beside \(Figure.grouped(Double(largeMessage))), median"
            report.add(name, times.median, .milliseconds, .atMost(500))
            report.add("  p99", times[0.99], .milliseconds, .atMost(1_000))
        }
    }

    /// Sends this many pushes in one delivery, and returns the duration in seconds.
    @discardableResult
    private static func send(
        _ count: Int,
        _ payload: [UInt8],
        _ simulated: SimulatedGateway,
        _ sender: HTTP2Backend
    ) async throws -> Double {
        let batch = Volley(pushes: count, payload: payload).batch(0, of: count)
        let start = MonotonicInstant.now
        try await simulated.send(batch, by: sender)
        return start.age
    }

    /// Sends until all connections are open and accept as many pushes as the gateway allows.
    private static func warmUp(to capacity: Int, _ simulated: SimulatedGateway, _ sender: HTTP2Backend) async throws {
        let volley = Volley(pushes: capacity * 5, payload: smallPayload)
        for _ in 0..<100 where try await simulated.send(volley.batch(0, of: capacity * 5), by: sender) == capacity {
            return
        }
        throw BenchmarkError("The sender never came to \(capacity) pushes at a time.")
    }

    private static func with(
        _ distance: Duration,
        streams: UInt32? = nil,
        _ body: (SimulatedGateway, HTTP2Backend) async throws -> Void
    ) async throws {
        try await SimulatedGateway.with(simulator: {
            $0.distance = distance
            $0.window = window
            $0.maximumStreams = streams
        }) { simulated in
            try await simulated.withSender { sender in try await body(simulated, sender) }
        }
    }
}
