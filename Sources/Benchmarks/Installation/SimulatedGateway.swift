import ApplePush
import ApplePushSimulator
import CarillonIO

/// A simulator, and a team whose provider tokens it accepts.
struct SimulatedGateway {
    let simulator: APNsSimulator
    let team: SigningTeam

    var gateway: Gateway { Gateway(host: "127.0.0.1", port: simulator.port, trust: .pem(simulator.rootPEM)) }

    static func with<R>(
        _ team: SigningTeam? = nil,
        simulator change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (SimulatedGateway) async throws -> R
    ) async throws -> R {
        let team = try team ?? SigningTeam()
        var configuration = SimulatorConfiguration()
        configuration.bindsTokens = false  // measure only answering
        configuration.providerKeys = [try team.providerKey()]
        try change(&configuration)
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        return try await Cleanup.after({ await simulator.stop() }) {
            try await body(SimulatedGateway(simulator: simulator, team: team))
        }
    }

    func withSender<R>(connections: Int? = nil, _ body: (HTTP2Backend) async throws -> R) async throws -> R {
        var configuration = HTTP2Configuration()
        if let connections { configuration.connections = connections }
        let sender = HTTP2Backend(configuration)
        return try await Cleanup.after({ await sender.shutdown() }) { try await body(sender) }
    }

    /// Sends a batch, and returns the capacity of the connections. Every push must be delivered.
    @discardableResult
    func send(_ batch: consuming PushBatch, by sender: HTTP2Backend) async throws -> Int {
        let delivered = await sender.deliver(batch, to: gateway, with: team.credential, terms: DeliveryTerms())
        if let failure = delivered.outcomes.connectFailure { throw failure }
        if let bad = delivered.outcomes.first(where: { $0.verdict != .accepted }) {
            throw BenchmarkError("A push ended as \(bad).")
        }
        return delivered.capacity ?? 0
    }

    /// Sends all pushes of a volley, several batches at once, and returns the pushes per second.
    func rate(of volley: Volley, by sender: HTTP2Backend) async throws -> Double {
        let batches = volley.batches
        let start = MonotonicInstant.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Volley.batchesAtOnce {
                group.addTask {
                    for number in stride(from: lane, to: batches.count, by: Volley.batchesAtOnce) {
                        try await send(batches[number], by: sender)
                    }
                }
            }
            try await group.waitForAll()
        }
        return Double(volley.pushes) / start.age
    }
}
