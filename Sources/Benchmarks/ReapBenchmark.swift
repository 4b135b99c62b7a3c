import IO
import Postgres

/// How long a feedback pass takes that deletes every tenth token, and what it costs the worker that runs it: its rate is
/// taken before, during and after the pass, out of one queue.
struct ReapBenchmark {
    let tokens: Int

    /// How many pushes the worker's rate alone is taken from, each time.
    private var sample: Int { self.tokens / 2 }
    /// More than can be sent until all of it is over, most of which takes longer with more tokens.
    private var queue: Int { self.tokens * 9 / 2 + 2 * Installation.spareRows }
    private static let longest = 30.0

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in try await self.run(on: installation, into: &report) }
    }

    private func run(on installation: Installation, into report: inout Report) async throws {
        let dead = self.tokens / 10
        try await self.fill(installation, dead: dead)
        let worker = try CommandProcess(serving: installation.url, once: false)
        do {
            _ = try await installation.arrival(of: self.sample)
            let before = try await installation.rate(of: self.sample)
            let (seconds, during) = try await self.pass(on: installation)
            let after = try await installation.rate(of: self.sample)
            let left = try await installation.number("SELECT count(*) FROM carillon.tokens")
            guard left == self.tokens - dead else { throw BenchmarkError("\(left) tokens are left of \(self.tokens).") }
            guard try await installation.number("SELECT count(*) FROM carillon.messages") > 0 else {
                throw BenchmarkError("The queue was empty before all was measured.")
            }
            let alone = (before + after) / 2
            report.note("one-token rows a second, without a feedback pass", Report.grouped(alone))
            report.note("one-token rows a second, while a feedback pass runs", Report.grouped(during))
            report.ratio("  with / without it", during / alone, atLeast: 0.9)
            report.time(
                "the pass: \(Report.grouped(Double(dead))) dead of \(Report.grouped(Double(self.tokens))) tokens",
                seconds * 1000,
                atMost: Self.longest * 1000
            )
        } catch {
            worker.kill()
            throw error
        }
        worker.kill()
    }

    /// Registered tokens, of which every tenth is dead, and a long queue of pushes to others. The next pass is far.
    private func fill(_ installation: Installation, dead: Int) async throws {
        try await installation.connection.script(
            """
            UPDATE carillon.chores SET next_run = now() + interval '1 hour', every = '1 hour' WHERE name = 'feedback';
            INSERT INTO carillon.tokens (app_id, token, last_update)
            SELECT \(installation.app), encode(sha256(n::text::bytea), 'hex'), now() - interval '30 days'
            FROM generate_series(1, \(self.tokens)) n;
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason)
            SELECT \(installation.app), encode(sha256((n * 10)::text::bytea), 'hex'), now() - interval '1 day',
                'Unregistered'
            FROM generate_series(1, \(dead)) n
            """
        )
        for table in ["tokens", "feedback"] {
            try await installation.connection.script("VACUUM ANALYZE carillon.\(table)")
        }
        try await installation.fill(self.queue)
    }

    /// Has the worker run a pass; how long that took, and how many pushes arrived a second meanwhile.
    private func pass(on installation: Installation) async throws -> (seconds: Double, rate: Double) {
        try await installation.connection.script("UPDATE carillon.chores SET next_run = now() WHERE name = 'feedback'")
        try await self.wait(until: true, on: installation)
        let start = (pushes: await installation.delivered(), at: MonotonicInstant.now)
        try await self.wait(until: false, on: installation)
        let end = (pushes: await installation.delivered(), at: MonotonicInstant.now)
        let seconds = (end.at - start.at) / .seconds(1)
        return (seconds, Double(end.pushes - start.pushes) / seconds)
    }

    private func wait(until isUnderWay: Bool, on installation: Installation) async throws {
        let giveUp = MonotonicInstant.now + .seconds(300)
        while try await installation.number(
            "SELECT count(c.held_by) FROM carillon.chores c WHERE c.name = 'feedback'"
        ) != (isUnderWay ? 1 : 0) {
            if .now > giveUp { throw BenchmarkError("The feedback pass does not \(isUnderWay ? "begin" : "end").") }
            try await installation.loop.sleep(for: .milliseconds(20))
        }
    }
}
