import FoundationEssentials

/// A file of runs, as `docs/benchmarks.json` is one: of each benchmark the last that was recorded.
struct BenchmarkRecord {
    private(set) var runs: [BenchmarkRun]

    /// Empty if there is no such file.
    init(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            runs = []
            return
        }
        runs = try JSONDecoder().decode([BenchmarkRun].self, from: try Data(contentsOf: URL(filePath: path)))
    }

    mutating func add(_ run: BenchmarkRun) {
        if let place = runs.firstIndex(where: { $0.benchmark == run.benchmark }) {
            runs[place] = run
        } else {
            runs.append(run)
        }
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(runs) + Data("\n".utf8)).write(to: URL(filePath: path))
    }
}
