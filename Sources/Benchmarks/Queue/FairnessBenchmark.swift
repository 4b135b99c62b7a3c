import ApplePushSimulator
import CarillonIO

/// One app has a full queue while 200 others each send a row a second over the same connections. Measures how long the small apps'
/// rows take, and what that costs the large app.
struct FairnessBenchmark {
    let rows: Int
    private let apps = 200

    func run(into report: inout Report) async throws {
        try await Installation.with(simulator: {
            $0.recordsRequests = true
            $0.recordedPrefix = Trickle.prefix
        }) { installation in
            let small = try await installation.addApps(apps)
            try await installation.fill(rows + Installation.spareRows / 4)
            try await installation.withWorkers { _ in try await measure(installation, small, into: &report) }
        }
    }

    private func measure(_ installation: Installation, _ small: [Int32], into report: inout Report) async throws {
        // The connections of the small apps are open before the measurement.
        let trickle = try await Trickle(into: installation, connections: 8)
        _ = try await installation.arrival(of: rows / 20)
        var together: (rate: Double, commits: [Trickle.Commit]) = (0, [])
        let alone = try await installation.rateAlone(of: rows / 8) {
            together = try await run(trickle, installation, small)
        }
        let left = try await installation.number(
            "SELECT count(*) FROM carillon.messages WHERE app_id = \(installation.app)"
        )
        guard left > 0 else { throw BenchmarkError("The large app had no rows left before all was measured.") }
        await trickle.close()
        let sample = try await Trickle.latencies(of: together.commits, at: installation)
        report.add("rows a second of a large app alone", alone, .rate)
        report.add("rows a second beside \(apps) small ones", together.rate, .rate)
        report.add("  rate beside them / alone", together.rate / alone, .ratio, .atLeast(0.8))
        report.add("small apps' rows, commit to request: p50", sample.median, .milliseconds)
        report.add("  p99", sample[0.99], .milliseconds, .atMost(250))
    }

    /// The large app's rows a second while the small apps send, and the small apps' commits.
    private func run(
        _ trickle: Trickle,
        _ installation: Installation,
        _ small: [Int32]
    ) async throws -> (rate: Double, commits: [Trickle.Commit]) {
        try await withThrowingTaskGroup(of: [Trickle.Commit].self) { group in
            for app in small { group.addTask { try await trickle.run(of: app) } }
            let start = MonotonicInstant.now
            let rate = try await installation.rate(of: rows / 2)
            let seconds = start.age
            group.cancelAll()
            let commits = try await group.reduce(into: []) { $0 += $1 }
            guard !commits.isEmpty else { throw BenchmarkError("No small app sent anything: name more rows.") }
            return (rate - Double(commits.count) / seconds, commits)
        }
    }
}
