import Postgres

/// Whether somebody else's long transaction costs: rows that were claimed stay in the table and its index for as long as
/// that may still see them. The same drain without it and with it, in turn.
struct HorizonBenchmark {
    let rows: Int
    private let rounds = 2

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let other = try await PostgresConnection.connect(
                installation.url,
                on: installation.loop,
                application: "a long report"
            )
            var clean: [Double] = []
            var pinned: [Double] = []
            for _ in 0..<self.rounds {
                clean.append(try await self.rate(on: installation))
                try await other.script("BEGIN ISOLATION LEVEL REPEATABLE READ")
                // The snapshot is taken by the first look at anything.
                try await other.execute(Statement("look", "SELECT count(*) FROM carillon.apps"))
                pinned.append(try await self.rate(on: installation))
                try await other.script("COMMIT")
            }
            await other.close()
            try await installation.check(sent: self.rows * self.rounds * 2, rows: self.rows * self.rounds * 2)
            let (free, held) = (Sample(clean)[1], Sample(pinned)[1])
            report.note("rows a second, \(Report.grouped(Double(self.rows))) drained", Report.grouped(free))
            report.note("rows a second beside a transaction that stays open", Report.grouped(held))
            report.ratio("  with / without it", held / free, atLeast: 0.8)
        }
    }

    private func rate(on installation: Installation) async throws -> Double {
        try await installation.fill(self.rows)
        return Double(self.rows) / (try await installation.drain()).seconds
    }
}
