/// The whole path: one worker process claims, sends and settles rows committed earlier, with PostgreSQL (fsync on) and the
/// simulator on the same cores.
struct QueueBenchmark {
    let rows: Int
    let tokensPerRow: Int
    let unit: String
    let bound: Figure.Bound

    static func oneToken(rows: Int) -> Self {
        Self(rows: rows, tokensPerRow: 1, unit: "one-token rows", bound: .atLeast(45_000, aim: 80_000))
    }

    static func manyTokens(rows: Int) -> Self {
        Self(rows: rows, tokensPerRow: 1000, unit: "tokens in rows of 1,000", bound: .atLeast(150_000, aim: 250_000))
    }

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let total = rows * tokensPerRow
            try await installation.fill(rows, tokensPerRow: tokensPerRow)
            let drain = try await installation.run(["worker", "--once"])
            try await installation.check(sent: total, rows: rows)
            report.add("\(unit), claimed, sent and settled a second", Double(total) / drain.seconds, .rate, bound)
            report.add("  peak memory of the worker", Double(drain.peakMemory) / 1e6, .megabytes, .atMost(60))
            let perPush = drain.processorTime / .microseconds(1) / Double(total)
            report.add("  processor time of the worker a push", perPush, .microseconds)
        }
    }
}
