import ApplePush
import Simulator

/// What the largest payload costs: pushes of 4,096 bytes against pushes of 200, in turn, over one connection.
struct PayloadBenchmark {
    /// How often each of the two runs; the medians count.
    let rounds = 3
    let pushes: Int

    func run(into report: inout Report) async throws {
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.bindsTokens = false  // what the gateway does beside answering is not measured
        configuration.providerKeys = [try team.providerKey()]
        // What windows cost is another benchmark's.
        configuration.window = 16 << 20
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let gateway = Gateway(host: "127.0.0.1", port: simulator.port, trust: .pem(simulator.rootPEM))
        var limits = HTTP2Configuration()
        limits.connections = 1
        let backend = HTTP2Backend(limits)
        let small = Volley(pushes: self.pushes, payload: Volley.payload(of: 200))
        let large = Volley(pushes: self.pushes, payload: Volley.payload(of: 4_096))
        _ = try await small.rate(by: backend, to: gateway, as: team.credential)
        var rates: (small: [Double], large: [Double]) = ([], [])
        for _ in 0..<self.rounds {
            rates.small.append(try await small.rate(by: backend, to: gateway, as: team.credential))
            rates.large.append(try await large.rate(by: backend, to: gateway, as: team.credential))
        }
        await backend.shutdown()
        await simulator.stop()
        let (one, other) = (rates.small.sorted()[self.rounds / 2], rates.large.sorted()[self.rounds / 2])
        report.note("200 bytes, pushes a second", Report.grouped(one))
        report.note("4,096 bytes, pushes a second", Report.grouped(other))
        report.ratio("4,096 bytes / 200 bytes", other / one, atLeast: 0.5)
    }
}
