@testable import Carillon

extension WorkerProcess {
    /// How many of its connections to gateways have ended in that way.
    func ends(by end: String) async throws -> Int {
        let line = try await ends().first { $0.contains("end=\"\(end)\"") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }

    /// The lines of the metric with the ways in which they have ended.
    func ends() async throws -> [Substring] {
        try await ask("/metrics").body.split(separator: "\n")
            .filter { $0.hasPrefix("carillon_connection_ends_total{") }
    }
}
