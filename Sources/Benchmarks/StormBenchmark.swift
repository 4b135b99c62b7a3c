import ApplePush
import Simulator

/// How much of its rate the sender keeps where a gateway says goodbye after every hundred requests, or breaks the
/// connection after every five hundred.
struct StormBenchmark {
    let pushes: Int

    func run(into report: inout Report) async throws {
        let volley = Volley(pushes: self.pushes, payload: Volley.payload(of: 200))
        let (clean, _) = try await self.rate(of: volley) { _ in }
        let (goodbyes, said) = try await self.rate(of: volley) { $0.goAwayAfter = 100 }
        let (resets, answered) = try await self.rate(of: volley, again: true) { $0.resetAfter = 500 }
        report.note("clean, pushes a second", Report.grouped(clean))
        report.note("connections, with a goodbye after every 100 requests", Report.grouped(Double(said.connections)))
        report.ratio("requests a push, with those goodbyes", Double(said.requests) / Double(self.pushes), atMost: 1)
        report.ratio("goodbyes / clean", goodbyes / clean, atLeast: 0.33, aim: 0.5)
        report.note(
            "requests a push, reset after every 500",
            Report.decimals(Double(answered.requests) / Double(pushes))
        )
        report.note("resets / clean", Report.decimals(resets / clean))
    }

    private func rate(
        of volley: Volley,
        again: Bool = false,
        _ change: (inout SimulatorConfiguration) -> Void
    ) async throws -> (Double, SimulatorStatistics) {
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.providerKeys = [try team.providerKey()]
        change(&configuration)
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let gateway = Gateway(host: "127.0.0.1", port: simulator.port, trust: .pem(simulator.rootPEM))
        let backend = HTTP2Backend()
        let rate = try await volley.rate(by: backend, to: gateway, as: team.credential, again: again)
        await backend.shutdown()
        await simulator.stop()
        return (rate, await simulator.statistics())
    }
}
