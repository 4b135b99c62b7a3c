import IO
import Postgres
import Simulator

/// How soon a single row leaves when there is nothing else to do, and what it costs to be that ready.
struct LatencyBenchmark {
    let samples: Int
    /// Apps that an idle worker may know of.
    private let apps = 10_000
    private var idleTime: Duration { .seconds(min(10, self.samples)) }

    func run(into report: inout Report) async throws {
        try await Installation.with(simulator: { $0.recordsDeliveries = true }) { installation in
            for count in [1, 2] {
                let workers = try (0..<count).map { _ in try CommandProcess(serving: installation.url, once: false) }
                do {
                    let sample = try await self.latencies(installation, workers: count)
                    let name = count == 1 ? "one idle worker" : "\(count) idle workers"
                    report.time("\(name), commit to request: p50", sample.median, atMost: 30)
                    report.time("  p99", sample[0.99], atMost: 120)
                    for worker in workers { try await worker.stop(on: installation.loop) }
                } catch {
                    for worker in workers { worker.kill() }
                    throw error
                }
            }
            try await self.idle(installation, into: &report)
        }
    }

    private func latencies(_ installation: Installation, workers: Int) async throws -> Sample {
        let trickle = try await Trickle(into: installation.url, connections: 1, on: installation.loop)
        // Every worker has its connection before time counts.
        var number = 1_000_000 * workers
        while await installation.simulator.statistics().openConnections < workers {
            _ = try await trickle.commit(number, of: installation.app)
            number += 1
            try await installation.loop.sleep(for: .milliseconds(20))
        }
        var commits: [Trickle.Commit] = []
        for _ in 0..<self.samples {
            // Long enough for every worker to be at rest again.
            try await installation.loop.sleep(for: .milliseconds(Int.random(in: 250...550)))
            commits.append(try await trickle.commit(number, of: installation.app))
            number += 1
        }
        try await installation.loop.sleep(for: .seconds(1))
        await trickle.close()
        guard let latencies = await Trickle.latencies(of: commits, at: installation) else {
            throw BenchmarkError("A row that was committed more than a second ago has not been sent.")
        }
        return Sample(latencies)
    }

    private func idle(_ installation: Installation, into report: inout Report) async throws {
        let worker = try CommandProcess(serving: installation.url, once: false)
        do {
            try await self.noteIdle("an idle worker", worker, installation, into: &report)
            let apps = try await installation.addApps(self.apps, paused: true)
            let name = Report.grouped(Double(apps.count))
            try await self.noteIdle("  with \(name) apps", worker, installation, into: &report)
            try await installation.connection.script(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload)
                SELECT a.id, ARRAY['00'], '{}' FROM carillon.apps a WHERE a.paused
                """
            )
            try await installation.rest()
            try await self.noteIdle(
                "  with \(name) paused apps that have rows",
                worker,
                installation,
                into: &report
            )
            try await worker.stop(on: installation.loop)
        } catch {
            worker.kill()
            throw error
        }
    }

    /// What it takes of a core, and what its sessions take of another.
    private func noteIdle(
        _ name: String,
        _ worker: CommandProcess,
        _ installation: Installation,
        into report: inout Report
    ) async throws {
        // What has changed is noticed first.
        try await installation.loop.sleep(for: .seconds(3))
        let sessions = try await installation.numbers(
            "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'carillon %'"
        )
        let start = MonotonicInstant.now
        let (mine, theirs) = (try worker.reading(), try Self.processorTime(of: sessions))
        try await installation.loop.sleep(for: self.idleTime)
        let (after, theirsAfter) = (try worker.reading(), try Self.processorTime(of: sessions))
        let time = MonotonicInstant.now - start
        let share = (after.processorTime - mine.processorTime) / time * 100
        report.percent("\(name), of a core", share, atMost: 2)
        report.percent("    and its sessions in PostgreSQL", (theirsAfter - theirs) / time * 100, atMost: 5)
    }

    private static func processorTime(of sessions: [Int]) throws -> Duration {
        try sessions.reduce(.zero) { sum, session in
            guard let reading = ProcessReading(Int32(session)) else {
                throw BenchmarkError("A session of the idle worker has gone.")
            }
            return sum + reading.processorTime
        }
    }
}
