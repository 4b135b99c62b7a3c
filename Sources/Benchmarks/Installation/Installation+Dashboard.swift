import CarillonIO
import CarillonPostgres
import Glibc

extension Installation {
    /// Runs a dashboard during the body, which gets its port. Its login may read everything and change whatever people may change,
    /// so that each page has all its forms.
    func withDashboard(_ body: (_ port: UInt16) async throws -> Void) async throws {
        try await connection.script(
            "CREATE ROLE dashboard LOGIN; GRANT carillon_reader, carillon_operator TO dashboard"
        )
        let folder = try ScratchFolder()
        let log = try folder.write("log", "")
        let process = try await start(["web", "--http", "127.0.0.1:0", "--local-changes"], as: "dashboard", log: log)
        do {
            try await body(try await port(in: folder))
        } catch {
            process.signal(SIGKILL)
            throw error
        }
        process.signal(SIGTERM)
        try await end(of: process)
    }

    /// The port that the dashboard logs.
    private func port(in folder: ScratchFolder) async throws -> UInt16 {
        let giveUp = MonotonicInstant.now + .seconds(60)
        while true {
            let text = try folder.read("log")
            if let match = text.firstMatch(of: #/"port":([0-9]+)/#), let port = UInt16(match.output.1) { return port }
            guard .now < giveUp else { throw BenchmarkError("The dashboard has not started: \(text)") }
            try await loop.sleep(for: .milliseconds(20))
        }
    }
}
