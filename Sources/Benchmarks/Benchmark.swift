/// A benchmark, under its command-line name. To add one, add a file and a line in `all`.
struct Benchmark: Sendable {
    let name: String
    /// The size of the published figures.
    let usualSize: Int
    /// The smallest size at which everything is measured. It shows that a benchmark runs; its figures are meaningless.
    let leastSize: Int
    /// What the size counts.
    let unit: String
    /// Whether it runs only when named, because it takes long or needs gigabytes.
    let isLong: Bool
    let run: @Sendable (_ size: Int, inout Report) async throws -> Void

    private init(
        _ name: String,
        _ usualSize: Int,
        least leastSize: Int = 1,
        isLong: Bool = false,
        _ unit: String,
        run: @escaping @Sendable (_ size: Int, inout Report) async throws -> Void
    ) {
        self.name = name
        self.usualSize = usualSize
        self.leastSize = leastSize
        self.unit = unit
        self.isLong = isLong
        self.run = run
    }

    static let all = [
        Benchmark("sender", 400_000, "pushes") { try await SenderBenchmark(pushes: $0).run(into: &$1) },
        Benchmark("payload", 100_000, "pushes") { try await PayloadBenchmark(pushes: $0).run(into: &$1) },
        // The connection breaks after 500 pushes.
        Benchmark("storms", 50_000, least: 1_000, "pushes") { try await StormBenchmark(pushes: $0).run(into: &$1) },
        Benchmark("binary", 1_000_000, "notifications") { try await BinaryBenchmark(pushes: $0).run(into: &$1) },
        Benchmark("rows", 400_000, "rows") { try await QueueBenchmark.oneToken(rows: $0).run(into: &$1) },
        // Two clients claim a thousand rows each.
        Benchmark("claim", 400_000, least: 2_000, "rows") { try await ClaimBenchmark(rows: $0).run(into: &$1) },
        Benchmark("tokens", 1500, "rows of 1,000 tokens") {
            try await QueueBenchmark.manyTokens(rows: $0).run(into: &$1)
        },
        Benchmark("personal", 300, "rows of 1,000 tokens of each kind, in each of three rounds") {
            try await PersonalBenchmark(rows: $0).run(into: &$1)
        },
        Benchmark("events", 500_000, isLong: true, "rows, in each of seven rounds") {
            try await EventsBenchmark(rows: $0).run(into: &$1)
        },
        Benchmark("wal", 200_000, "rows") { try await WALBenchmark(rows: $0).run(into: &$1) },
        Benchmark("insert", 20, "seconds") { try await InsertBenchmark(seconds: $0).run(into: &$1) },
        Benchmark("enqueue", 300, least: 20, "calls of each kind, in each of 30 rounds") {
            try await EnqueueBenchmark(calls: $0).run(into: &$1)
        },
        Benchmark("committers", 2_000, "transactions of each of 32 sessions, in each of six runs") {
            try await CommittersBenchmark(transactions: $0).run(into: &$1)
        },
        Benchmark("import", 1_000_000, "device tokens") { try await ImportBenchmark(tokens: $0).run(into: &$1) },
        Benchmark("latency", 300, isLong: true, "single rows") {
            try await LatencyBenchmark(samples: $0).run(into: &$1)
        },
        Benchmark("idle", 10, isLong: true, "idle minutes") { try await IdleBenchmark(minutes: $0).run(into: &$1) },
        Benchmark("horizon", 1_000_000, isLong: true, "rows") { try await HorizonBenchmark(rows: $0).run(into: &$1) },
        Benchmark("fairness", 2_000_000, least: 20_000, isLong: true, "rows of the large app") {
            try await FairnessBenchmark(rows: $0).run(into: &$1)
        },
        Benchmark("crowd", 10_000, isLong: true, "apps that wake at once") {
            try await CrowdBenchmark(apps: $0).run(into: &$1)
        },
        Benchmark("silence", 2_000_000, least: 40_000, isLong: true, "rows of the app whose gateway answers") {
            try await SilenceBenchmark(rows: $0).run(into: &$1)
        },
        Benchmark("reap", 1_000_000, least: 2_000, isLong: true, "tokens, a tenth of them dead") {
            try await ReapBenchmark(tokens: $0).run(into: &$1)
        },
        Benchmark("depth", 10_000_000, least: 150_000, isLong: true, "rows in the deep queue") {
            try await DepthBenchmark(depth: $0).run(into: &$1)
        },
        // Every part of the fill has rows.
        Benchmark("web", 1_000_000, least: 10_000, isLong: true, "jobs that wait, five times as many have ended") {
            try await WebBenchmark(rows: $0).run(into: &$1)
        },
    ]

    /// Both sizes, in words.
    var sizes: String {
        "\(Figure.grouped(Double(usualSize))) \(unit), at least \(Figure.grouped(Double(leastSize)))"
    }

    static var usage: String {
        let names = all.map { benchmark in
            let gap = String(repeating: " ", count: 11 - benchmark.name.count)
            return "  \(benchmark.name)\(gap)\(benchmark.sizes)" + (benchmark.isLong ? " (long)" : "")
        }
        return """
            usage: carillon-bench [--record FILE] [short | long | NAME | NAME=SIZE | NAME=least]...

            Without names: short. With NAME=least, the smallest size, bounds are shown and not judged.
            With --record, FILE keeps the last figures of each benchmark, as JSON.
            The names, with their usual size:

            \(names.joined(separator: "\n"))
            """
    }
}
