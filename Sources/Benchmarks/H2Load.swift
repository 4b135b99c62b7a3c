import IO

/// The load generator of nghttp2, the fastest client there is: the yardstick.
struct H2Load {
    private let requests: Int
    private let arguments: [String]
    private let folder: ScratchFolder

    init(requests: Int, port: UInt16, payload: String, team: Team) throws {
        self.requests = requests
        self.folder = try ScratchFolder()
        let body = try self.folder.write("payload.json", payload)
        let token = team.bearer()
        self.arguments = [
            "-n", String(requests), "-c", "1", "-m", "1000", "-t", "1", "-d", body,
            "-H", "authorization: \(token)", "-H", "apns-topic: \(Team.topic)", "-H", "apns-push-type: alert",
            "-H", "apns-priority: 10", "-H", "apns-id: 123e4567-e89b-12d3-a456-426614174000",
            "https://127.0.0.1:\(port)/3/device/" + String(repeating: "a1", count: 32),
        ]
    }

    /// Runs it once; every request must have been answered with 200.
    func rate() async throws -> Double {
        let output = self.folder.path("h2load.txt")
        var command = ChildProcess.Command("h2load", self.arguments)
        try self.folder.remove("h2load.txt")
        command.output = .file(output)
        let loop = try EventLoop(name: "h2load")
        defer {
            loop.stop()
            loop.join()
        }
        do {
            _ = try await ChildProcess(command).wait(on: loop)
        } catch {
            throw BenchmarkError("\(error.message). `make bench` installs h2load, which Debian has in nghttp2-client.")
        }
        let text = try self.folder.read("h2load.txt")
        guard let answered = Self.number(before: " 2xx", in: text), Int(answered) == self.requests,
            let rate = Self.number(before: " req/s", in: text)
        else { throw BenchmarkError("h2load did not get \(self.requests) answers of 200:\n\(text)") }
        return rate
    }

    /// The number that stands right before the first place of a word.
    private static func number(before word: String, in text: String) -> Double? {
        let bytes = Array(text.utf8)
        let pattern = Array(word.utf8)
        guard bytes.count > pattern.count else { return nil }
        for end in 0..<(bytes.count - pattern.count) where Array(bytes[end..<(end + pattern.count)]) == pattern {
            let isPart = { (byte: UInt8) in (48...57).contains(byte) || byte == UInt8(ascii: ".") }
            let start = bytes[..<end].lastIndex { !isPart($0) }.map { $0 + 1 } ?? 0
            return Double(String(decoding: bytes[start..<end], as: UTF8.self))
        }
        return nil
    }
}
