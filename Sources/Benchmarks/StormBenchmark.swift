import ApplePush
import Simulator

/// How much of its rate a worker keeps where the gateway says goodbye after every hundred requests, or breaks the
/// connection after every five hundred; and the sender alone, which feels it more.
struct StormBenchmark {
    let pushes: Int

    func run(into report: inout Report) async throws {
        let clean = try await self.drain { _ in }
        let goodbyes = try await self.drain { $0.goAwayAfter = 100 }
        let resets = try await self.drain { $0.resetAfter = 500 }
        report.note("clean, rows a second", Report.grouped(clean.rate))
        report.ratio("requests a push, with a goodbye after every 100", goodbyes.requests, atMost: 1)
        report.ratio("  its rate / clean", goodbyes.rate / clean.rate, atLeast: 0.33, aim: 0.66)
        report.note("requests a push, reset after every 500", Report.decimals(resets.requests))
        report.note("  its rate / clean", Report.decimals(resets.rate / clean.rate))
        let alone = try await self.send { _ in }
        let said = try await self.send { $0.goAwayAfter = 100 }
        report.note("the sender alone, with those goodbyes / clean", Report.decimals(said / alone))
    }

    /// Rows a second that one worker has sent and settled, and how many requests each took.
    private func drain(
        _ change: (inout SimulatorConfiguration) -> Void
    ) async throws -> (rate: Double, requests: Double) {
        var figures = (rate: 0.0, requests: 0.0)
        try await Installation.with(simulator: change) { installation in
            try await installation.fill(self.pushes)
            let seconds = try await installation.drain().seconds
            let sent = try await installation.number("SELECT coalesce(sum(sent), 0) FROM carillon.results")
            let requests = await installation.simulator.statistics().requests
            // What came to an unknown end waits for another try, which is not due yet.
            let left = try await installation.number("SELECT count(*) FROM carillon.scheduled")
            guard sent + left == self.pushes else {
                throw BenchmarkError("Of \(self.pushes) pushes \(sent) were sent, and \(left) are left.")
            }
            figures = (Double(self.pushes) / seconds, Double(requests) / Double(self.pushes))
        }
        return figures
    }

    /// Pushes a second by the sender alone.
    private func send(_ change: (inout SimulatorConfiguration) -> Void) async throws -> Double {
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.bindsTokens = false  // what the gateway does beside answering is not measured
        configuration.providerKeys = [try team.providerKey()]
        change(&configuration)
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let gateway = Gateway(host: "127.0.0.1", port: simulator.port, trust: .pem(simulator.rootPEM))
        let backend = HTTP2Backend()
        let volley = Volley(pushes: self.pushes, payload: Volley.payload(of: 200))
        let rate = try await volley.rate(by: backend, to: gateway, as: team.credential)
        await backend.shutdown()
        await simulator.stop()
        return rate
    }
}
