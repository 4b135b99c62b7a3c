import CarillonPostgres

/// What it costs that a consumer follows all kinds of an app's events, and how fast one session takes them.
struct EventsBenchmark {
    /// Rows in each round. Each has two events: `sent` and `finished`.
    let rows: Int

    private static let rounds = 3
    /// How many events a call takes.
    private static let batch = 1000

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            _ = try await rate(in: installation)
            let (alone, followed) = try await Sample.inTurn(rounds: Self.rounds) {
                // Events of a consumer go with it.
                try await installation.connection.script("SELECT carillon.unsubscribe('bench', 'follower')")
                return try await rate(in: installation)
            } _: {
                try await installation.connection.script("SELECT carillon.subscribe('bench', 'follower')")
                return try await rate(in: installation)
            }
            let all = rows * (2 * Self.rounds + 1)
            try await installation.check(sent: all, rows: all)
            report.add("one-token rows of an app without a consumer a second", alone.median, .rate)
            report.add("one-token rows of an app whose events are followed a second", followed.median, .rate)
            report.add(
                "rate with a consumer / without one",
                followed.median / alone.median,
                .ratio,
                .atLeast(0.9)
            )
            let taken = try await taken(from: installation)
            report.add("events taken a second by one session", taken, .rate, .atLeast(50_000))
        }
    }

    /// Rows claimed, sent and settled in a second.
    private func rate(in installation: Installation) async throws -> Double {
        try await installation.fill(rows)
        return Double(rows) / (try await installation.run(["worker", "--once"])).seconds
    }

    /// Takes the events of the last round, each call in a transaction of its own.
    private func taken(from installation: Installation) async throws -> Double {
        let events = try await installation.number(Self.waiting)
        guard events == 2 * rows else { throw BenchmarkError("\(events) events of \(rows) rows were stored.") }
        let take = "SELECT * FROM carillon.take_events('follower', \(Self.batch));"
        let calls = try PGBench([take], on: installation.url, settings: [])
        let rate = try await calls.rate(clients: 1, times: (events + Self.batch - 1) / Self.batch)
        let left = try await installation.number(Self.waiting)
        guard left == 0 else { throw BenchmarkError("\(left) of \(events) events were not taken.") }
        return rate * Double(Self.batch)
    }

    private static let waiting = "SELECT sum(events) FROM carillon.consumers WHERE consumer = 'follower'"
}
