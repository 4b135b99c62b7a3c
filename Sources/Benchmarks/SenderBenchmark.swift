import ApplePush
import Simulator

/// Our sender against `h2load`, in turn, on the same simulator: one connection each, 1,000 streams, the same headers and
/// payload. Ours sends to a distinct token with a distinct `apns-id` each time, which `h2load` cannot.
struct SenderBenchmark {
    /// How often each of the two runs; the medians count.
    let rounds = 3
    let pushes: Int
    let payload =
        #"{"aps":{"alert":{"title":"Carillon","body":"Twelve o'clock, and all is well."},"badge":1,"sound":"default"}}"#

    func run(into report: inout Report) async throws {
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.bindsTokens = false  // what the gateway does beside answering is not measured
        configuration.providerKeys = [try team.providerKey()]
        configuration.maximumStreams = 1000
        // What windows cost is another benchmark's.
        configuration.window = 16 << 20
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let gateway = Gateway(host: "127.0.0.1", port: simulator.port, trust: .pem(simulator.rootPEM))

        var ours: [Double] = []
        var theirs: [Double] = []
        let load = try H2Load(requests: self.pushes, port: simulator.port, payload: self.payload, team: team)
        _ = try await self.rate(to: gateway, as: team)
        for _ in 0..<self.rounds {
            ours.append(try await self.rate(to: gateway, as: team))
            theirs.append(try await load.rate())
        }
        await simulator.stop()
        let rate = ours.sorted()[self.rounds / 2]
        let yardstick = theirs.sorted()[self.rounds / 2]
        report.note("h2load, requests a second", Report.grouped(yardstick))
        report.note("our sender, pushes a second", Report.grouped(rate))
        report.ratio("our sender / h2load", rate / yardstick, atLeast: 0.7, aim: 0.9)
    }

    /// Pushes a second through one warm connection.
    private func rate(to gateway: Gateway, as team: Team) async throws -> Double {
        var configuration = HTTP2Configuration()
        configuration.connections = 1
        let backend = HTTP2Backend(configuration)
        let volley = Volley(pushes: self.pushes, payload: Array(self.payload.utf8))
        // The connection is made and the provider token accepted before time counts.
        let outcomes = await backend.deliver(volley.batch(0, of: 1), to: gateway, with: team.credential)
        if let failure = outcomes.connectFailure { throw failure }
        let rate = try await volley.rate(by: backend, to: gateway, as: team.credential)
        await backend.shutdown()
        return rate
    }
}
