/// A benchmark that the command line asks for, and its size.
struct Selection {
    let benchmark: Benchmark
    let size: Int
    /// Whether its figures are judged by their bounds.
    let isJudged: Bool

    private init(_ benchmark: Benchmark, size: Int? = nil, isJudged: Bool = true) {
        self.benchmark = benchmark
        self.size = size ?? benchmark.usualSize
        self.isJudged = isJudged
    }

    /// The selection as written on the command line.
    var title: String { "carillon-bench \(benchmark.name)" + (size == benchmark.usualSize ? "" : "=\(size)") }

    static func parse(_ words: [String]) throws(BenchmarkError) -> [Selection] {
        var selections: [Selection] = []
        for word in words.isEmpty ? ["short"] : words {
            switch word {
            case "short", "long":
                selections += Benchmark.all.filter { $0.isLong == (word == "long") }.map { Selection($0) }
            default: selections.append(try parse(word))
            }
        }
        return selections
    }

    /// `NAME`, `NAME=SIZE` or `NAME=least`.
    private static func parse(_ word: String) throws(BenchmarkError) -> Selection {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let benchmark = Benchmark.all.first(where: { $0.name == parts[0] }) else {
            throw BenchmarkError("There is no benchmark named '\(parts[0])'.")
        }
        guard parts.count == 2 else { return Selection(benchmark) }
        if parts[1] == "least" { return Selection(benchmark, size: benchmark.leastSize, isJudged: false) }
        guard let size = Int(parts[1]), size >= benchmark.leastSize else {
            throw BenchmarkError("'\(parts[1])' is not a size for \(benchmark.name): \(benchmark.sizes).")
        }
        return Selection(benchmark, size: size)
    }
}
