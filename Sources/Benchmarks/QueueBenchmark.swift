/// The whole way: rows that were committed before are claimed, sent and settled by one worker process, with PostgreSQL
/// (fsync on) and the simulator beside it on the same cores.
struct QueueBenchmark {
    let rows: Int
    let tokensPerRow: Int
    let leastRate: Double
    let aim: Double

    static func oneToken(rows: Int) -> Self {
        Self(rows: rows, tokensPerRow: 1, leastRate: 45_000, aim: 80_000)
    }

    static func manyTokens(rows: Int) -> Self {
        Self(rows: rows, tokensPerRow: 1000, leastRate: 150_000, aim: 250_000)
    }

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in try await self.run(on: installation, into: &report) }
    }

    private func run(on installation: Installation, into report: inout Report) async throws {
        let total = self.rows * self.tokensPerRow
        try await installation.fill(self.rows, tokensPerRow: self.tokensPerRow)
        let drain = try await installation.drain()
        try await installation.check(sent: total, rows: self.rows)

        let unit =
            self.tokensPerRow == 1 ? "one-token rows" : "tokens in rows of \(Report.grouped(Double(self.tokensPerRow)))"
        report.rate(
            "\(unit), claimed, sent and settled a second",
            Double(total) / drain.seconds,
            atLeast: self.leastRate,
            aim: self.aim
        )
        report.memory("  peak memory of the worker", drain.end.peakMemory, atMost: 60_000_000)
        let perPush = drain.end.processorTime / .microseconds(1) / Double(total)
        report.note("  processor time of the worker a push", "\(Report.decimals(perPush)) µs")
    }
}
