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
    var usualSize: Int {
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

    /// The smallest size at which everything is measured that is measured at the usual one. It shows that a benchmark
    /// runs; its figures say nothing.
    var leastSize: Int {
        switch self {
        case .sender, .payload, .rows, .tokens, .insert, .import, .latency, .horizon: 1
        case .distance: 60
        case .storms: 1_000  // the connection breaks after 500
        case .claim: 2_000  // two clients claim a thousand each
        case .reap: 2_000
        case .fairness: 20_000
        case .silence: 40_000
        case .depth: 150_000
        }
    }

    /// Both of them, in words.
    var sizes: String {
        let usual = Report.grouped(Double(self.usualSize))
        return "\(usual) \(self.unit), at least \(Report.grouped(Double(self.leastSize)))"
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
            return "  \(name)  \(benchmark.sizes)" + (self.long.contains(benchmark) ? " (long)" : "")
        }
        return """
            usage: carillon-bench [short | long | NAME | NAME=SIZE | NAME=least]...

            Without arguments: short. With NAME=least, the smallest size, bounds are shown and not judged.
            The names, with their usual size:

            \(names.joined(separator: "\n"))
            """
    }

    func run(size: Int, into report: inout Report) async throws {
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
