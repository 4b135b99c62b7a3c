/// A benchmark and how large it is to be: nil as large as usual.
struct Order {
    let benchmark: Benchmark
    let size: Int?

    /// What the words of the command line ask for; nil when one is not understood.
    static func parse(_ words: [String]) -> [Order]? {
        var orders: [Order] = []
        for word in words.isEmpty ? ["short"] : words {
            switch word {
            case "short": orders += Benchmark.short.map { Order(benchmark: $0, size: nil) }
            case "long": orders += Benchmark.long.map { Order(benchmark: $0, size: nil) }
            default:
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard let benchmark = Benchmark(rawValue: String(parts[0])) else { return nil }
                let size = parts.count == 2 ? Int(parts[1]) : nil
                if parts.count == 2, size ?? 0 < 1 { return nil }
                orders.append(Order(benchmark: benchmark, size: size))
            }
        }
        return orders
    }
}
