import ApplePushSimulator
import CarillonIO
import CarillonPostgres

/// How soon a single row is sent when nothing else is happening, and how much the idle worker uses.
struct LatencyBenchmark {
    let samples: Int
    /// The number of apps that an idle worker may know.
    private let apps = 10_000
    private var idleTime: Duration { .seconds(min(10, samples)) }

    func run(into report: inout Report) async throws {
        try await Installation.with(simulator: { $0.recordsRequests = true }) { installation in
            for count in [1, 2] {
                try await installation.withWorkers(count) { _ in
                    let sample = try await latencies(installation, workers: count)
                    let name = count == 1 ? "one idle worker" : "\(count) idle workers"
                    report.add("\(name), commit to request: p50", sample.median, .milliseconds, .atMost(30))
                    report.add("  p99", sample[0.99], .milliseconds, .atMost(120))
                }
            }
            try await installation.withWorkers { workers in
                try await idle(installation, workers[0], into: &report)
            }
        }
    }

    private func latencies(_ installation: Installation, workers: Int) async throws -> Sample {
        let trickle = try await Trickle(into: installation, connections: 1)
        // Make sure that every worker has its connection before the measurement.
        var number = 1_000_000 * workers
        while await installation.simulated.simulator.statistics().openConnections < workers {
            _ = try await trickle.commit(number, of: installation.app)
            number += 1
            try await installation.loop.sleep(for: .milliseconds(20))
        }
        var commits: [Trickle.Commit] = []
        for _ in 0..<samples {
            // Long enough for every worker to be idle again.
            try await installation.loop.sleep(for: .milliseconds(Int.random(in: 250...550)))
            commits.append(try await trickle.commit(number, of: installation.app))
            number += 1
        }
        let latencies = try await Trickle.latencies(of: commits, at: installation)
        await trickle.close()
        return latencies
    }

    private func idle(_ installation: Installation, _ worker: ChildProcess, into report: inout Report) async throws {
        try await addIdle("an idle worker", worker, installation, into: &report)
        let count = Figure.grouped(Double(try await installation.addApps(apps, paused: true).count))
        try await addIdle("  with \(count) apps", worker, installation, into: &report)
        try await installation.connection.script(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT a.id, ARRAY['00'], '{}' FROM carillon.apps a WHERE a.paused
            """
        )
        try await installation.settleDown()
        try await addIdle("  with \(count) paused apps that have rows", worker, installation, into: &report)
    }

    /// The share of a core that the worker uses, and the share that its sessions use.
    private func addIdle(
        _ name: String,
        _ worker: ChildProcess,
        _ installation: Installation,
        into report: inout Report
    ) async throws {
        // Let the worker notice the changes first.
        try await installation.loop.sleep(for: .seconds(3))
        let sessions = try await installation.numbers(
            "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'carillon %'"
        )
        let start = MonotonicInstant.now
        let before = (Self.processorTime(of: worker.processID), sessions.map { Self.processorTime(of: Int32($0)) })
        try await installation.loop.sleep(for: idleTime)
        let after = (Self.processorTime(of: worker.processID), sessions.map { Self.processorTime(of: Int32($0)) })
        let time = MonotonicInstant.now - start
        guard let earlier = before.0, let later = after.0 else { throw BenchmarkError("The idle worker has ended.") }
        // A maintenance task may have closed its own connection in the meantime; that session is not counted.
        let ofSessions = zip(before.1, after.1).reduce(Duration.zero) { sum, times in
            guard let earlier = times.0, let later = times.1 else { return sum }
            return sum + (later - earlier)
        }
        report.add("\(name), of a core", (later - earlier) / time * 100, .percent, .atMost(2))
        report.add("    and its sessions in PostgreSQL", ofSessions / time * 100, .percent, .atMost(5))
    }

    /// The processor time; nil if the process has ended.
    private static func processorTime(of process: Int32) -> Duration? { ProcessReading(process)?.processorTime }
}
