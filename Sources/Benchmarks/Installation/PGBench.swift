import CarillonIO
import CarillonPostgres

struct PGBench {
    private let folder: ScratchFolder
    private let scripts: [String]
    private let database: String
    private let settings: [(name: String, value: String)]

    init(_ scripts: [String], on database: String, settings: [(name: String, value: String)]) throws {
        let folder = try ScratchFolder()
        self.folder = folder
        self.scripts = try scripts.enumerated().map { try folder.write("script\($0).sql", $1) }
        self.database = database
        self.settings = settings
    }

    /// Runs of the script per second. Each client runs it this many times.
    func rate(clients: Int, times: Int) async throws -> Double {
        let text = try await run(["-c", String(clients), "-j", String(clients), "-t", String(times)])
        guard let rate = text.firstMatch(of: #/tps = ([0-9.]+)/#).flatMap({ Double($0.output.1) }) else {
            throw BenchmarkError("pgbench printed no rate:\n\(text)")
        }
        return rate
    }

    /// The duration of each run of each script, in microseconds: one client picks scripts at random for this many seconds.
    func times(seconds: Int) async throws -> [[Double]] {
        var times: [[Double]] = scripts.map { _ in [] }
        var round = 0
        // On a busy machine a short time may end before each script has run.
        while times.contains(where: \.isEmpty) {
            round += 1
            let log = "times\(round)"
            _ = try await run(["-c", "1", "-T", String(seconds), "-l", "--log-prefix", folder.path(log)])
            for line in try folder.read(log + ".").split(separator: "\n") {
                // The client, the number of the run, its duration, the number of the script, and the time of day.
                let words = line.split(separator: " ")
                guard words.count > 3, let time = Double(words[2]), let script = Int(words[3]) else { continue }
                guard times.indices.contains(script) else {
                    throw BenchmarkError("pgbench ran no such script: \(line)")
                }
                // pgbench reads the clock once per turn, so if the answer is already there, a run ends in the turn in which it
                // began.
                times[script].append(max(1, time))
            }
        }
        return times
    }

    private func run(_ arguments: [String]) async throws -> String {
        var command = ChildProcess.Command(
            try PrivateCluster.program("pgbench"),
            ["-n", "-M", "prepared", "-D", "turn=0"] + scripts.flatMap { ["-f", $0] } + arguments + [database]
        )
        // libpq splits the options at spaces, except those after a backslash.
        let options = settings.map { "-c \($0.name)=\($0.value.replacing(" ", with: "\\ "))" }
        command.environment = ["PGOPTIONS": options.joined(separator: " ")]
        return try await folder.output(of: command)
    }
}
