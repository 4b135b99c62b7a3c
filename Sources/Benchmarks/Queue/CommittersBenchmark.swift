import CarillonPostgres

/// What a sleeping worker costs sessions that commit on a slow disk. The first commits wake it, and each NOTIFY locks the whole
/// cluster until its commit is on disk. Then the worker sends what is committed.
struct CommittersBenchmark {
    /// Of each session in each run.
    let transactions: Int

    private static let rounds = 3
    private static let sessions = 32
    /// A flush takes 5 ms and what the disk takes: whoever is first to flush waits, and flushes the commits of the others too.
    private static let slowFlush = ["commit_delay": "5000", "commit_siblings": "0"]

    func run(into report: inout Report) async throws {
        try await Installation.with(server: Self.slowFlush) { installation in
            let insert = """
                INSERT INTO carillon.messages (app_id, tokens, payload) VALUES
                    (\(installation.app), ARRAY['\(String(repeating: "a1", count: 32))'], \(Installation.payloadLiteral));

                """
            let bench = try PGBench([insert], on: installation.url, settings: [("role", "carillon_app")])
            let (alone, beside) = try await Sample.inTurn(rounds: Self.rounds) {
                try await rate(of: bench, workers: 0, installation)
            } _: {
                try await rate(of: bench, workers: 1, installation)
            }
            let name = "transactions a second of \(Self.sessions) sessions, 5 ms a flush"
            report.add("\(name), no worker", alone.median, .rate)
            report.add("\(name), a sleeping worker", beside.median, .rate)
            report.add("  rate with / without it", beside.median / alone.median, .ratio, .atLeast(0.95))
        }
    }

    private func rate(of bench: PGBench, workers: Int, _ installation: Installation) async throws -> Double {
        try await installation.connection.script("TRUNCATE carillon.messages")
        var rate = 0.0
        try await installation.withWorkers(workers) { _ in
            try await installation.waitUntilAsleep(workers)
            rate = try await bench.rate(clients: Self.sessions, times: transactions)
        }
        return rate
    }
}
