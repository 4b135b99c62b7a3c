import ApplePushSimulator
import CarillonIO

/// nghttp2's `h2load`, the fastest load generator available, for comparison.
struct H2Load {
    private let requests: Int
    private let command: ChildProcess.Command
    private let folder: ScratchFolder

    init(requests: Int, to scene: Scene, payload: String) throws {
        self.requests = requests
        folder = try ScratchFolder()
        command = ChildProcess.Command(
            "h2load",
            [
                "-n", String(requests), "-c", "1", "-m", "1000", "-t", "1", "-d",
                try folder.write("payload.json", payload),
                "-H", "authorization: \(scene.team.bearer())", "-H", "apns-topic: \(Team.topic)",
                "-H", "apns-push-type: alert", "-H", "apns-priority: 10",
                "-H", "apns-id: 123e4567-e89b-12d3-a456-426614174000",
                "https://127.0.0.1:\(scene.simulator.port)/3/device/" + String(repeating: "a1", count: 32),
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
