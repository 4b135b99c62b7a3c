/// A benchmark, how large it is to be, and whether its figures are then judged.
struct Order {
    let benchmark: Benchmark
    let size: Int
    let isJudged: Bool

    /// What the words of the command line ask for.
    static func parse(_ words: [String]) throws(BenchmarkError) -> [Order] {
        var orders: [Order] = []
        for word in words.isEmpty ? ["short"] : words {
            switch word {
            case "short": orders += Benchmark.short.map { Order(benchmark: $0, size: $0.usualSize, isJudged: true) }
            case "long": orders += Benchmark.long.map { Order(benchmark: $0, size: $0.usualSize, isJudged: true) }
            default: orders.append(try Order(word))
            }
        }
        return orders
    }

    private init(benchmark: Benchmark, size: Int, isJudged: Bool) {
        self.benchmark = benchmark
        self.size = size
        self.isJudged = isJudged
    }

    /// `NAME`, `NAME=SIZE` or `NAME=least`.
    private init(_ word: String) throws(BenchmarkError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let benchmark = Benchmark(rawValue: String(parts[0])) else {
            throw BenchmarkError("There is no benchmark named '\(parts[0])'.")
        }
        switch parts.count == 2 ? parts[1] : nil {
        case nil: self.init(benchmark: benchmark, size: benchmark.usualSize, isJudged: true)
        case "least"?: self.init(benchmark: benchmark, size: benchmark.leastSize, isJudged: false)
        case let text?:
            guard let size = Int(text), size >= benchmark.leastSize else {
                throw BenchmarkError("'\(text)' is no size for \(benchmark.rawValue): \(benchmark.sizes).")
            }
            self.init(benchmark: benchmark, size: size, isJudged: true)
        }
    }
}
