import CarillonPostgres

/// The cost of another session's long transaction: claimed rows stay in the table and its index as long as that transaction might
/// see them. Drains the queue without and with it, in turn.
struct HorizonBenchmark {
    private static let rounds = 2
    let rows: Int

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let other = try await PostgresConnection.connect(
                DatabaseSource(installation.url),
                on: installation.loop,
                application: "a long report"
            )
            let (clean, pinned) = try await Sample.inTurn(rounds: Self.rounds) {
                try await rate(on: installation)
            } _: {
                try await other.script("BEGIN ISOLATION LEVEL REPEATABLE READ")
                // The first query takes the snapshot.
                try await other.execute(Statement("count_apps", "SELECT count(*) FROM carillon.apps"))
                let pinned = try await rate(on: installation)
                try await other.script("COMMIT")
                return pinned
            }
            await other.close()
            try await installation.check(sent: rows * Self.rounds * 2, rows: rows * Self.rounds * 2)
            let (free, held) = (clean[1], pinned[1])
            report.add("rows a second, \(Figure.grouped(Double(rows))) drained", free, .rate)
            report.add("rows a second beside a transaction that stays open", held, .rate)
            report.add("  rate with / without it", held / free, .ratio, .atLeast(0.8))
        }
    }

    private func rate(on installation: Installation) async throws -> Double {
        try await installation.fill(rows)
        return Double(rows) / (try await installation.run(["worker", "--once"])).seconds
    }
}
