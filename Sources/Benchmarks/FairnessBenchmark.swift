import IO
import Simulator

/// One app has a great deal to send, 200 others send a row a second each, all over the same connections: how long the
/// rows of the small ones take, and what that costs the large one.
struct FairnessBenchmark {
    let rows: Int
    private let apps = 200

    func run(into report: inout Report) async throws {
        try await Installation.with(
            simulator: {
                $0.recordsDeliveries = true
                $0.recordedPrefix = Trickle.prefix
            }
        ) { installation in
            let small = try await installation.addApps(self.apps)
            try await installation.fill(self.rows + Installation.spareRows / 4)
            let worker = try CommandProcess(serving: installation.url, once: false)
            do {
                try await self.measure(installation, small, into: &report)
                try await worker.stop(on: installation.loop)
            } catch {
                worker.kill()
                throw error
            }
        }
    }

    private func measure(
        _ installation: Installation,
        _ small: [Int32],
        into report: inout Report
    ) async throws {
        // What it takes to begin with the small ones is over before anything is measured.
        let trickle = try await Trickle(into: installation.url, connections: 8, on: installation.loop)
        _ = try await installation.arrival(of: self.rows / 20)
        let before = try await installation.rate(of: self.rows / 8)
        let (together, commits) = try await self.run(trickle, installation, small)
        let after = try await installation.rate(of: self.rows / 8)
        let left = try await installation.number(
            "SELECT count(*) FROM carillon.messages WHERE app_id = \(installation.app)"
        )
        guard left > 0 else { throw BenchmarkError("The large app had no rows left before all was measured.") }
        await trickle.close()
        var latencies = await Trickle.latencies(of: commits, at: installation)
        let giveUp = MonotonicInstant.now + .seconds(10)
        while latencies == nil, MonotonicInstant.now < giveUp {
            try await installation.loop.sleep(for: .milliseconds(100))
            latencies = await Trickle.latencies(of: commits, at: installation)
        }
        guard let latencies else { throw BenchmarkError("Not all rows of the small apps have arrived.") }
        let alone = (before + after) / 2
        let sample = Sample(latencies)
        report.note("rows a second of a large app alone", Report.grouped(alone))
        report.note("rows a second beside \(self.apps) small ones", Report.grouped(together))
        report.ratio("  beside them / alone", together / alone, atLeast: 0.8)
        report.note("small apps' rows, commit to request: p50", "\(Report.decimals(sample.median)) ms")
        report.time("  p99", sample[0.99], atMost: 250)
    }

    /// The large app's rows a second while the small ones trickle, and what those have committed.
    private func run(
        _ trickle: Trickle,
        _ installation: Installation,
        _ small: [Int32]
    ) async throws -> (rate: Double, commits: [Trickle.Commit]) {
        try await withThrowingTaskGroup(of: [Trickle.Commit].self) { group in
            for app in small { group.addTask { try await trickle.run(of: app) } }
            let start = MonotonicInstant.now
            let rate = try await installation.rate(of: self.rows / 2)
            let time = (MonotonicInstant.now - start) / .seconds(1)
            group.cancelAll()
            let commits = try await group.reduce(into: []) { $0 += $1 }
            guard !commits.isEmpty else { throw BenchmarkError("No small app had its turn: name more rows.") }
            return (rate - Double(commits.count) / time, commits)
        }
    }
}
