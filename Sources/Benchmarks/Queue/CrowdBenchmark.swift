import ApplePushSimulator
import CarillonIO
import CarillonPostgres

/// Many apps wake at once: a row of each is committed in one transaction. Meanwhile, another app enqueues a row every 10 ms, which
/// is sent over the same connections. Measures how soon the crowd is served, and how long the other app stands still.
struct CrowdBenchmark {
    let apps: Int

    func run(into report: inout Report) async throws {
        try await Installation.with(simulator: { $0.recordsRequests = true }) { installation in
            _ = try await installation.addApps(apps)
            let trickle = try await Trickle(into: installation, connections: 1)
            try await installation.withWorkers { _ in
                // The steady app has its connection before the measurement.
                _ = try await trickle.commit(0, of: installation.app)
                _ = try await installation.arrival(of: 1)
                try await measure(installation, trickle, into: &report)
            }
            await trickle.close()
        }
    }

    private func measure(_ installation: Installation, _ trickle: Trickle, into report: inout Report) async throws {
        let (seconds, commits) = try await run(trickle, installation)
        guard !commits.isEmpty else { throw BenchmarkError("The steady app committed nothing meanwhile.") }
        let sample = try await Trickle.latencies(of: commits, at: installation)
        let name = "\(Figure.grouped(Double(apps))) apps that wake at once: apps served a second"
        report.add(name, Double(apps) / seconds, .rate)
        report.add("a row of a steady app beside them, commit to request: p50", sample.median, .milliseconds)
        report.add("  the longest that it stands still", sample[1], .milliseconds, .atMost(100))
    }

    /// How long it takes to serve the crowd, and the steady app's commits from its waking on.
    private func run(
        _ trickle: Trickle,
        _ installation: Installation
    ) async throws -> (seconds: Double, commits: [Trickle.Commit]) {
        let app = installation.app
        return try await withThrowingTaskGroup(of: [Trickle.Commit].self) { group in
            group.addTask { try await trickle.run(of: app, from: 1, every: .milliseconds(10)) }
            try await installation.loop.sleep(for: .seconds(1))
            let start = Double(WallClock.milliseconds)
            let seconds = try await serve(installation)
            group.cancelAll()
            let commits = try await group.reduce(into: []) { $0 += $1 }
            return (seconds, commits.filter { $0.time >= start })
        }
    }

    /// Wakes the crowd. Returns the seconds from the commit to the last request.
    private func serve(_ installation: Installation) async throws -> Double {
        try await installation.connection.script(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT a.id, ARRAY[lpad(to_hex(a.id), 64, 'c')], \(Installation.payloadLiteral)
            FROM carillon.apps a WHERE a.id <> \(installation.app)
            """
        )
        let start = WallClock.milliseconds
        let giveUp = MonotonicInstant.now + .seconds(120)
        while true {
            let requests = await installation.simulated.simulator.receivedRequests()
            let times = requests.filter { !$0.token.hasPrefix(Trickle.prefix) }.map(\.time)
            // Times are whole milliseconds.
            if times.count >= apps, let last = times.max() { return Double(max(1, last - start)) / 1000 }
            guard .now < giveUp else { throw BenchmarkError("Only \(times.count) of \(apps) apps were served.") }
            try await installation.loop.sleep(for: .milliseconds(100))
        }
    }
}
