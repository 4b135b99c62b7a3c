/// What can be measured, by the name that the command line takes.
enum Benchmark: String, CaseIterable {
    case sender
    case payload
    case storms
    case distance
    case rows
    case claim
    case tokens
    case insert
    case `import`
    case latency
    case horizon
    case fairness
    case silence
    case depth
    case reap

    /// What runs when nothing is named: a few minutes in all. The others take their time, or gigabytes.
    static let short: [Benchmark] = [.sender, .payload, .storms, .distance, .rows, .claim, .tokens, .insert, .import]
    static let long: [Benchmark] = [.latency, .horizon, .fairness, .silence, .reap, .depth]

    /// Its size, where the command line names none: the one that published numbers have.
    private var usualSize: Int {
        switch self {
        case .sender, .rows, .claim: 400_000
        case .payload: 100_000
        case .storms: 50_000
        case .distance: 6_000
        case .tokens: 1500
        case .insert: 20
        case .latency: 300
        case .horizon, .import, .reap: 1_000_000
        case .fairness, .silence: 2_000_000
        case .depth: 10_000_000
        }
    }

    /// What the size counts.
    private var unit: String {
        switch self {
        case .sender, .payload, .storms: "pushes"
        case .distance: "pushes of 4 KB, and a hundred times as many small ones"
        case .rows, .claim, .horizon: "rows"
        case .tokens: "rows of 1,000 tokens"
        case .insert: "seconds"
        case .import: "device tokens"
        case .latency: "single rows"
        case .fairness: "rows of the large app"
        case .silence: "rows of the app that goes on"
        case .depth: "rows in the deep queue"
        case .reap: "tokens, a tenth of them dead"
        }
    }

    static var usage: String {
        let names = self.allCases.map { benchmark in
            let name = benchmark.rawValue + String(repeating: " ", count: 9 - benchmark.rawValue.count)
            return "  \(name)  \(Report.grouped(Double(benchmark.usualSize))) \(benchmark.unit)"
                + (self.long.contains(benchmark) ? " (long)" : "")
        }
        return (["usage: carillon-bench [short | long | NAME | NAME=SIZE]...", ""] + names).joined(separator: "\n")
    }

    func run(size: Int?, into report: inout Report) async throws {
        let size = size ?? self.usualSize
        switch self {
        case .sender: try await SenderBenchmark(pushes: size).run(into: &report)
        case .payload: try await PayloadBenchmark(pushes: size).run(into: &report)
        case .storms: try await StormBenchmark(pushes: size).run(into: &report)
        case .distance: try await DistanceBenchmark(pushes: size).run(into: &report)
        case .rows: try await QueueBenchmark.oneToken(rows: size).run(into: &report)
        case .claim: try await ClaimBenchmark(rows: size).run(into: &report)
        case .tokens: try await QueueBenchmark.manyTokens(rows: size).run(into: &report)
        case .insert: try await InsertBenchmark(seconds: size).run(into: &report)
        case .import: try await ImportBenchmark(tokens: size).run(into: &report)
        case .latency: try await LatencyBenchmark(samples: size).run(into: &report)
        case .horizon: try await HorizonBenchmark(rows: size).run(into: &report)
        case .fairness: try await FairnessBenchmark(rows: size).run(into: &report)
        case .silence: try await SilenceBenchmark(rows: size).run(into: &report)
        case .depth: try await DepthBenchmark(depth: size).run(into: &report)
        case .reap: try await ReapBenchmark(tokens: size).run(into: &report)
        }
    }
}
