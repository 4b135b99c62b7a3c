import IO
import Postgres

/// The load generator of PostgreSQL: how fast scripts run.
struct PGBench {
    private let folder: ScratchFolder
    private let scripts: [String]
    private let database: String
    /// Settings of its sessions.
    private let settings: [(name: String, value: String)]

    init(_ scripts: [String], on database: String, settings: [(name: String, value: String)] = []) throws {
        self.folder = try ScratchFolder()
        let folder = self.folder
        self.scripts = try scripts.enumerated().map { try folder.write("script\($0).sql", $1) }
        self.database = database
        self.settings = settings
    }

    /// Runs a second. Each client runs it so often.
    func rate(clients: Int, times: Int) async throws -> Double {
        try await self.run(["-c", String(clients), "-j", String(clients), "-t", String(times)])
    }

    /// How long each run of each script took, in microseconds: one client draws lots between them for so many seconds.
    func times(seconds: Int) async throws -> [[Double]] {
        _ = try await self.run(["-c", "1", "-T", String(seconds), "-l", "--log-prefix", self.folder.path("times")])
        var times: [[Double]] = self.scripts.map { _ in [] }
        guard let log = self.folder.names.first(where: { $0.hasPrefix("times.") }) else {
            throw BenchmarkError("pgbench has not written its log.")
        }
        try self.folder.forEachLine(of: log) { line in
            // The client, the number of the run, its time, the number of the script, and when that was.
            let words = line.split(separator: " ")
            guard words.count > 3, let time = Double(words[2]), let script = Int(words[3]) else { return }
            times[script].append(time)
        }
        return times
    }

    private func run(_ arguments: [String]) async throws -> Double {
        let output = self.folder.path("output.txt")
        try self.folder.remove("output.txt")
        var command = ChildProcess.Command(
            try PrivateCluster.program("pgbench"),
            ["-n", "-M", "prepared", "-D", "turn=0"] + self.scripts.flatMap { ["-f", $0] } + arguments + [self.database]
        )
        command.output = .file(output)
        command.error = .file(output)
        // libpq splits the options at spaces, except those with a backslash before them.
        let options = self.settings.map { "-c \($0.name)=\($0.value.replacing(" ", with: "\\ "))" }
        command.environment = ["PGOPTIONS": options.joined(separator: " ")]
        let loop = try EventLoop(name: "pgbench")
        defer {
            loop.stop()
            loop.join()
        }
        let exit = try await ChildProcess(command).wait(on: loop)
        let text = try self.folder.read("output.txt")
        let rate = text.split(separator: "\n").first { $0.hasPrefix("tps = ") }?.split(separator: " ")[2]
        guard exit == .status(0), let rate = rate.flatMap({ Double($0) }) else {
            throw BenchmarkError("pgbench ended with \(exit):\n\(text)")
        }
        return rate
    }
}
