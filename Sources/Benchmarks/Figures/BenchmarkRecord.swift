import FoundationEssentials

/// A file of runs, such as `docs/benchmarks.json`, with the last recorded run of each benchmark.
struct BenchmarkRecord {
    /// The figures of one benchmark, with everything needed to repeat it.
    struct Run: Codable {
        let benchmark: String
        let command: String
        let machine: String
        let commit: String
        let figures: [Figure]
    }

    private(set) var runs: [Run]

    /// Reads the file; the record is empty if it does not exist.
    init(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            runs = []
            return
        }
        runs = try JSONDecoder().decode([Run].self, from: try Data(contentsOf: URL(filePath: path)))
    }

    mutating func add(_ run: Run) {
        if let index = runs.firstIndex(where: { $0.benchmark == run.benchmark }) {
            runs[index] = run
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
