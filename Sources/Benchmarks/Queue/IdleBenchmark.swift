import ApplePushSimulator
import CarillonIO
import CarillonPostgres

/// What a worker that has nothing to do asks of PostgreSQL, which counts its statements, and how soon it then sends what comes.
struct IdleBenchmark {
    let minutes: Int

    /// The pushes of each kind that wake the worker after a few seconds.
    private var shortSleeps: Int { min(5, minutes) }
    /// A sleeping worker does not look by itself then: it has looked after one second, and looks again ten seconds later.
    private static let secondsAsleep = 2.0...8.0

    func run(into report: inout Report) async throws {
        try await Installation.with(
            server: ["shared_preload_libraries": "pg_stat_statements"],
            simulator: { $0.recordsRequests = true }
        ) { installation in
            try await installation.connection.script("CREATE EXTENSION pg_stat_statements")
            let trickle = try await Trickle(into: installation, connections: 1)
            // With the usual interval, the worker would wake for a feedback pass after ten minutes.
            try await installation.withWorkers(1, ["--feedback-interval", "1d"]) { _ in
                try await measure(installation, trickle, into: &report)
            }
            await trickle.close()
        }
    }

    private func measure(_ installation: Installation, _ trickle: Trickle, into report: inout Report) async throws {
        // The worker has its connection, and has done the tasks of its start, before the measurement.
        _ = try await trickle.commit(0, of: installation.app)
        try await installation.waitUntilAsleep()
        _ = try await trickle.commit(1, of: installation.app)
        _ = try await installation.arrival(of: 2)
        let start = MonotonicInstant.now
        var counts = [try await statements(on: installation)]
        for minute in 1...minutes {
            try await installation.loop.sleep(until: start + .seconds(60 * minute))
            counts.append(try await statements(on: installation))
        }
        let commit = try await trickle.commit(2, of: installation.app, by: Trickle.enqueue)
        let long = try await Trickle.latencies(of: [commit], at: installation).median
        let called = try await latencies(of: trickle, by: Trickle.enqueue, from: 3, installation)
        let plain = try await latencies(of: trickle, by: Trickle.insert, from: 3 + shortSleeps, installation)

        // With fewer minutes, the last one is shown in place of those after the fifth.
        let calm = min(5, minutes - 1)
        let late = Double(counts[minutes] - counts[calm]) / Double(minutes - calm)
        let first = Double(counts[1] - counts[0])
        report.add("statements of an idle worker in its first idle minute", first, .count, .atMost(30))
        report.add("  a minute after \(calm) idle minutes", late, .ratio, calm == 5 ? .atMost(2) : nil)
        let name = "by enqueue after \(minutes) idle minutes, commit to request"
        report.add(name, long, .milliseconds, .atMost(20))
        for (way, sample, bound) in [("enqueue", called, 20.0), ("INSERT", plain, 1_000.0)] {
            report.add("by \(way) after a few idle seconds, commit to request: p50", sample.median, .milliseconds)
            report.add("  max", sample[1], .milliseconds, .atMost(bound))
        }
    }

    /// How many statements there were so far, without those that ask for this.
    private func statements(on installation: Installation) async throws -> Int {
        try await installation.number(
            "SELECT sum(calls) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'"
        )
    }

    /// The latencies of pushes that wake the worker after a few seconds.
    private func latencies(
        of trickle: Trickle,
        by statement: Statement,
        from first: Int,
        _ installation: Installation
    ) async throws -> Sample {
        var commits: [Trickle.Commit] = []
        for number in first..<first + shortSleeps {
            try await installation.waitUntilAsleep()
            try await installation.loop.sleep(for: .seconds(Double.random(in: Self.secondsAsleep)))
            commits.append(try await trickle.commit(number, of: installation.app, by: statement))
        }
        return try await Trickle.latencies(of: commits, at: installation)
    }
}
