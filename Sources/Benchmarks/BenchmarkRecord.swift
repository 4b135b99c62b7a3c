import FoundationEssentials

/// A file of runs, such as `docs/benchmarks.json`, with the last recorded run of each benchmark.
struct BenchmarkRecord {
    private(set) var runs: [BenchmarkRun]

    /// Reads the file; the record is empty if it does not exist.
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
