/// What can be measured, by the name that the command line takes.
enum Benchmark: String, CaseIterable {
    case sender
    case rows
    case tokens

    /// All when none is named; nil when a name is unknown.
    static func chosen(_ names: [String]) -> [Benchmark]? {
        let chosen = names.compactMap(Benchmark.init)
        guard chosen.count == names.count else { return nil }
        return chosen.isEmpty ? Self.allCases : chosen
    }

    func run(into report: inout Report) async throws {
        switch self {
        case .sender: try await SenderBenchmark().run(into: &report)
        case .rows: try await QueueBenchmark(rows: 400_000, tokensPerRow: 1, leastRate: 30_000).run(into: &report)
        case .tokens: try await QueueBenchmark(rows: 1500, tokensPerRow: 1000, leastRate: 100_000).run(into: &report)
        }
    }
}
