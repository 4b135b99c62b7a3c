import ApplePush
import ApplePushSimulator

/// The sender and `h2load` in turn, on the same simulator: one connection each, 1,000 streams, the same headers and payload.
/// The sender has a distinct token and `apns-id` for each push, which `h2load` cannot do.
struct SenderBenchmark {
    let pushes: Int

    func run(into report: inout Report) async throws {
        let (ours, theirs) = try await Scene.with(simulator: {
            $0.maximumStreams = 1000
            // The benchmark `distance` measures the cost of windows.
            $0.window = 16 << 20
        }) { scene in
            let load = try H2Load(requests: pushes, to: scene, payload: Installation.payload)
            _ = try await rate(in: scene)
            let (ours, theirs) = try await Sample.inTurn(rounds: 3, { try await rate(in: scene) }, load.rate)
            return (ours.median, theirs.median)
        }
        report.add("h2load, requests a second", theirs, .rate)
        report.add("our sender, pushes a second", ours, .rate)
        report.add("our sender / h2load", ours / theirs, .ratio, .atLeast(0.7, aim: 0.9))
    }

    /// Pushes a second over one warm connection.
    private func rate(in scene: Scene) async throws -> Double {
        try await scene.withSender(connections: 1) { sender in
            let volley = Volley(pushes: pushes, payload: Array(Installation.payload.utf8))
            // Open the connection and get the provider token accepted before the measurement.
            try await scene.send(volley.batch(0, of: 1), by: sender)
            return try await scene.rate(of: volley, by: sender)
        }
    }
}
