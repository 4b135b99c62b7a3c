import ApplePushSimulator
import CarillonIO

/// The sender and `h2load` in turn, on the same simulator: one connection each, 1,000 streams, the same headers and payload.
/// The sender has a distinct token and `apns-id` for each push, which `h2load` cannot do.
struct SenderBenchmark {
    let pushes: Int

    func run(into report: inout Report) async throws {
        let (ours, theirs) = try await SimulatedGateway.with(simulator: {
            $0.maximumStreams = 1000
            $0.window = 16 << 20
        }) { simulated in
            let load = try H2Load(requests: pushes, to: simulated, payload: Installation.payload)
            _ = try await rate(in: simulated)
            let (ours, theirs) = try await Sample.inTurn(rounds: 3, { try await rate(in: simulated) }, load.rate)
            return (ours.median, theirs.median)
        }
        report.add("h2load, requests a second", theirs, .rate)
        report.add("our sender, pushes a second", ours, .rate)
        report.add("rate of our sender / rate of h2load", ours / theirs, .ratio, .atLeast(0.7, aim: 0.9))
    }

    /// Pushes a second over one warm connection.
    private func rate(in simulated: SimulatedGateway) async throws -> Double {
        try await simulated.withSender(connections: 1) { sender in
            let volley = Volley(pushes: pushes, payload: Array(Installation.payload.utf8))
            // Open the connection and get the provider token accepted before the measurement.
            try await simulated.send(volley.batch(0, of: 1), by: sender)
            return try await simulated.rate(of: volley, by: sender)
        }
    }
}

/// nghttp2's `h2load`, the fastest load generator available, for comparison.
private struct H2Load {
    private let requests: Int
    private let command: ChildProcess.Command
    private let folder: ScratchFolder

    init(requests: Int, to simulated: SimulatedGateway, payload: String) throws {
        self.requests = requests
        folder = try ScratchFolder()
        command = ChildProcess.Command(
            "h2load",
            [
                "-n", String(requests), "-c", "1", "-m", "1000", "-t", "1", "-d",
                try folder.write("payload.json", payload),
                "-H", "authorization: \(simulated.team.bearer())", "-H", "apns-topic: \(SigningTeam.topic)",
                "-H", "apns-push-type: alert", "-H", "apns-priority: 10",
                "-H", "apns-id: 123e4567-e89b-12d3-a456-426614174000",
                "https://127.0.0.1:\(simulated.simulator.port)/3/device/" + String(repeating: "a1", count: 32),
            ]
        )
    }

    /// Requests a second; every one must have been answered with 200.
    func rate() async throws -> Double {
        let text: String
        do {
            text = try await folder.output(of: command)
        } catch let error as IOError {
            throw BenchmarkError("\(error.message). `make bench` installs h2load, which Debian has in nghttp2-client.")
        }
        guard let answered = text.firstMatch(of: #/([0-9]+) 2xx/#), Int(answered.output.1) == requests,
            let rate = text.firstMatch(of: #/([0-9.]+) req\/s/#).flatMap({ Double($0.output.1) })
        else { throw BenchmarkError("h2load did not get \(requests) answers of 200:\n\(text)") }
        return rate
    }
}
