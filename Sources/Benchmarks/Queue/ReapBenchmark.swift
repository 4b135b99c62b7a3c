import CarillonIO
import CarillonPostgres

/// The duration of a feedback pass that deletes every tenth token, and what it costs the worker that runs it: its rate before,
/// during and after the pass, out of one queue.
struct ReapBenchmark {
    let tokens: Int

    /// The number of pushes over which each rate without a pass is measured.
    private var sample: Int { tokens / 2 }
    /// More than can be sent before everything is measured, which takes longer with more tokens.
    private var queue: Int { tokens * 9 / 2 + 2 * Installation.spareRows }

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let dead = tokens / 10
            try await fill(installation, dead: dead)
            try await installation.withWorkers(drains: false) { _ in
                try await measure(installation, dead: dead, into: &report)
            }
        }
    }

    private func measure(_ installation: Installation, dead: Int, into report: inout Report) async throws {
        _ = try await installation.arrival(of: sample)
        var (seconds, during) = (0.0, 0.0)
        let alone = try await installation.rateAlone(of: sample) {
            (seconds, during) = try await pass(on: installation)
        }
        let left = try await installation.number("SELECT count(*) FROM carillon.tokens")
        guard left == tokens - dead else { throw BenchmarkError("\(left) tokens are left of \(tokens).") }
        guard try await installation.number("SELECT count(*) FROM carillon.messages") > 0 else {
            throw BenchmarkError("The queue was empty before all was measured.")
        }
        report.add("one-token rows a second, without a feedback pass", alone, .rate)
        report.add("one-token rows a second, while a feedback pass runs", during, .rate)
        report.add("  rate with / without it", during / alone, .ratio, .atLeast(0.9))
        let name = "the pass: \(Figure.grouped(Double(dead))) dead of \(Figure.grouped(Double(tokens))) tokens"
        report.add(name, seconds, .seconds, .atMost(30))
    }

    /// Registers tokens, every tenth of them dead, and fills the queue with pushes to others. The next pass is far in the future.
    private func fill(_ installation: Installation, dead: Int) async throws {
        try await installation.connection.script(
            """
            UPDATE carillon.fleet_tasks SET next_run = now() + interval '1 hour', every = '1 hour' WHERE name = 'feedback';
            INSERT INTO carillon.tokens (app_id, token, last_update)
            SELECT \(installation.app), encode(sha256(n::text::bytea), 'hex'), now() - interval '30 days'
            FROM generate_series(1, \(tokens)) n;
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason)
            SELECT \(installation.app), encode(sha256((n * 10)::text::bytea), 'hex'), now() - interval '1 day',
                'Unregistered'
            FROM generate_series(1, \(dead)) n
            """
        )
        for table in ["tokens", "feedback"] {
            try await installation.connection.script("VACUUM ANALYZE carillon.\(table)")
        }
        try await installation.fill(queue)
    }

    /// Makes the worker run a pass; returns its duration, and the pushes that arrived per second during it.
    private func pass(on installation: Installation) async throws -> (seconds: Double, rate: Double) {
        try await installation.connection.script(
            "UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'feedback'"
        )
        try await wait(until: true, on: installation)
        let start = (pushes: await installation.delivered(), at: MonotonicInstant.now)
        try await wait(until: false, on: installation)
        let seconds = start.at.age
        return (seconds, Double(await installation.delivered() - start.pushes) / seconds)
    }

    private func wait(until isUnderWay: Bool, on installation: Installation) async throws {
        let giveUp = MonotonicInstant.now + .seconds(300)
        while try await installation.number(
            "SELECT count(c.worker_id) FROM carillon.fleet_tasks c WHERE c.name = 'feedback'"
        ) != (isUnderWay ? 1 : 0) {
            if .now > giveUp { throw BenchmarkError("The feedback pass does not \(isUnderWay ? "begin" : "end").") }
            try await installation.loop.sleep(for: .milliseconds(20))
        }
    }
}
