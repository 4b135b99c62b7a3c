import ApplePushSimulator

/// The cost of the largest payload: pushes of 4,096 bytes and of 200 bytes in turn, over one connection.
struct PayloadBenchmark {
    let pushes: Int

    func run(into report: inout Report) async throws {
        try await SimulatedGateway.with(simulator: { $0.window = 16 << 20 }) { simulated in
            try await simulated.withSender(connections: 1) { sender in
                let small = Volley(pushes: pushes, payload: Volley.payload(of: 200))
                let large = Volley(pushes: pushes, payload: Volley.payload(of: 4_096))
                _ = try await simulated.rate(of: small, by: sender)
                let (one, other) = try await Sample.inTurn(rounds: 3) {
                    try await simulated.rate(of: small, by: sender)
                } _: {
                    try await simulated.rate(of: large, by: sender)
                }
                report.add("200 bytes, pushes a second", one.median, .rate)
                report.add("4,096 bytes, pushes a second", other.median, .rate)
                report.add("rate with 4,096 bytes / with 200 bytes", other.median / one.median, .ratio, .atLeast(0.5))
            }
        }
    }
}
