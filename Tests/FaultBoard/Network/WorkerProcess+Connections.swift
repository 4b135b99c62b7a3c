@testable import Carillon

extension WorkerProcess {
    /// How many of its connections to gateways have ended so.
    func ends(by end: String) async throws -> Int {
        let lines = try await self.ask("/metrics").body.split(separator: "\n")
        let line = lines.first { $0.hasPrefix("carillon_connection_ends_total{") && $0.contains("end=\"\(end)\"") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }
}
