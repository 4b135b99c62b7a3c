import Testing

@testable import CarillonBenchmarks

/// What several databases would send, each with the cores of the machine that one was measured on: a table of `docs/benchmarks.md`
/// that is computed, not measured.
///
/// A database is charged for all processor time that the worker has not used, even for that of the simulator, so it does more.
struct DatabaseModel {
    private let cores: Double
    /// Pushes a second of one database.
    private let rate: Double
    /// The processor time of a worker for a push, in seconds.
    private let worker: Double

    private init(_ run: BenchmarkRecord.Run) throws {
        cores = try #require(Double(run.machine.prefix { $0.isNumber }), "\(run.machine)")
        let time = try #require(run.figures.first { $0.name.contains("processor time of the worker") })
        worker = time.value / 1e6
        let measured = try #require(run.figures.first { $0.unit == .rate })
        let all = cores / measured.value
        rate = cores / (all - worker)
    }

    /// For 1, 2, 4 and 8 databases.
    static func lines(from runs: [BenchmarkRecord.Run]) throws -> [String] {
        func run(_ name: String) throws -> BenchmarkRecord.Run {
            try #require(runs.first { $0.benchmark == name }, "\(name) is not in the data")
        }
        let (rows, tokens) = (try Self(run("rows")), try Self(run("tokens")))
        let figures = try run("wal").figures
        let wal = try #require(figures.first { $0.name.contains("to its result") }).value
        return [1, 2, 4, 8].map { count in
            let written = (rows.rate * count * wal / 1e6).rounded(.down)
            let cells = [
                Figure.Unit.count.text(of: count), Figure.Unit.count.text(of: rows.cores * count), rows.text(count),
                rows.workers(count), Figure.Unit.megabytes.text(of: written), tokens.text(count), tokens.workers(count),
            ]
            return "| " + cells.joined(separator: " | ") + " |"
        }
    }

    private func text(_ databases: Double) -> String {
        Figure.Unit.rate.text(of: (rate * databases / 1000).rounded(.down) * 1000)
    }

    private func workers(_ databases: Double) -> String { Figure.Unit.ratio.text(of: rate * databases * worker) }
}
