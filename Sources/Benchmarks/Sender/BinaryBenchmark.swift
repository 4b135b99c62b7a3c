import ApplePush
import ApplePushSimulator
import CarillonIO

/// The legacy binary protocol: notifications over one connection to the simulator, which checks each. A barrier confirms the last
/// ones.
struct BinaryBenchmark {
    let pushes: Int

    func run(into report: inout Report) async throws {
        let rates = try await SimulatedGateway.with(simulator: { $0.binaryPort = 0 }) { simulated in
            let issued = try simulated.simulator.issueCertificate(topics: [SigningTeam.topic])
            let credential = try Credential(certificate: issued.certificate, privateKey: issued.privateKey)
            var rates: [Double] = []
            for _ in 0..<3 { rates.append(try await rate(to: simulated, with: credential)) }
            return rates
        }
        report.add("notifications a second", Sample(rates).median, .rate, .atLeast(150_000, aim: 300_000))
    }

    private func rate(to simulated: SimulatedGateway, with credential: Credential) async throws -> Double {
        var configuration = BinaryConfiguration()
        configuration.window = pushes + 1
        configuration.firstWindow = pushes + 1
        configuration.barrierCount = 1
        configuration.quietPeriod = .seconds(60)
        let sender = BinaryBackend(configuration)
        let gateway = Gateway(
            host: "127.0.0.1",
            port: simulated.simulator.binaryPort ?? 0,
            trust: .pem(simulated.simulator.rootPEM),
            transport: .binary
        )
        return try await Cleanup.after({ await sender.shutdown() }) {
            let batch = Volley(pushes: pushes, payload: Array(Installation.payload.utf8)).batch(0, of: pushes)
            await sender.prepare(for: gateway, with: credential)
            let start = MonotonicInstant.now
            let outcomes = await sender.deliver(batch, to: gateway, with: credential)
            if let failure = outcomes.connectFailure { throw failure }
            if let bad = outcomes.first(where: { $0.verdict != .accepted }) {
                throw BenchmarkError("A push ended as \(bad).")
            }
            return Double(pushes) / start.age
        }
    }
}
