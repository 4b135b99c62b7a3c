import ApplePushSimulator

/// How much of its rate a worker keeps while the gateway sends a GOAWAY after every hundred requests, or resets the connection
/// after every five hundred. Also measures the sender alone, which is affected more.
struct StormBenchmark {
    let pushes: Int

    func run(into report: inout Report) async throws {
        let clean = try await drain { _ in }
        let goodbyes = try await drain { $0.goAwayAfter = 100 }
        let resets = try await drain { $0.resetAfter = 500 }
        report.add("clean, rows a second", clean.rate, .rate)
        report.add("requests a push, with a goodbye after every 100", goodbyes.requests, .ratio, .atMost(1))
        report.add("  its rate / the clean rate", goodbyes.rate / clean.rate, .ratio, .atLeast(0.33, aim: 0.66))
        report.add("requests a push, reset after every 500", resets.requests, .ratio)
        report.add("  its rate / the clean rate", resets.rate / clean.rate, .ratio)
        let alone = try await send { _ in }
        let stormed = try await send { $0.goAwayAfter = 100 }
        report.add("rate of the sender alone with those goodbyes / without them", stormed / alone, .ratio)
    }

    /// Rows a second that one worker has sent and settled, and requests for each.
    private func drain(
        _ change: (inout SimulatorConfiguration) -> Void
    ) async throws -> (rate: Double, requests: Double) {
        var figures = (rate: 0.0, requests: 0.0)
        try await Installation.with(simulator: change) { installation in
            try await installation.fill(pushes)
            let seconds = try await installation.run(["worker", "--once"]).seconds
            let sent = try await installation.number("SELECT coalesce(sum(sent), 0) FROM carillon.results")
            let requests = await installation.simulated.simulator.statistics().requests
            // Pushes with an unknown outcome wait for a retry that is not due yet.
            let left = try await installation.number("SELECT count(*) FROM carillon.scheduled")
            guard sent + left == pushes else {
                throw BenchmarkError("Of \(pushes) pushes \(sent) were sent, and \(left) are left.")
            }
            figures = (Double(pushes) / seconds, Double(requests) / Double(pushes))
        }
        return figures
    }

    /// Pushes a second by the sender alone.
    private func send(_ change: (inout SimulatorConfiguration) -> Void) async throws -> Double {
        try await SimulatedGateway.with(simulator: change) { simulated in
            try await simulated.withSender { sender in
                try await simulated.rate(of: Volley(pushes: pushes, payload: Volley.payload(of: 200)), by: sender)
            }
        }
    }
}
