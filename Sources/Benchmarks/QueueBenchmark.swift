import ApplePush
import IO
import Postgres
import PushQueue
import Simulator

/// The whole way: rows that were committed before are claimed, sent and settled by one worker process, with PostgreSQL
/// (fsync on) and the simulator beside it on the same cores.
struct QueueBenchmark {
    let rows: Int
    let tokensPerRow: Int
    let leastRate: Double

    func run(into report: inout Report) async throws {
        let loop = try EventLoop(name: "benchmark")
        defer {
            loop.stop()
            loop.join()
        }
        try await Installation.with(on: loop) { installation in
            try await self.run(on: installation, loop, into: &report)
        }
    }

    private func run(on installation: Installation, _ loop: EventLoop, into report: inout Report) async throws {
        let total = self.rows * self.tokensPerRow
        for statement in [self.enqueueing(for: installation.app), "VACUUM ANALYZE carillon.messages", "CHECKPOINT"] {
            try await installation.connection.script(statement)
        }
        let start = MonotonicInstant.now
        let worker = try WorkerProcess(serving: installation.url)
        let end = try await worker.wait(on: loop)
        let time = (MonotonicInstant.now - start) / .seconds(1)
        try await self.check(installation, total)

        let unit =
            self.tokensPerRow == 1 ? "one-token rows" : "tokens in rows of \(Report.grouped(Double(self.tokensPerRow)))"
        report.rate("\(unit), claimed, sent and settled a second", Double(total) / time, atLeast: self.leastRate)
        report.memory("  peak memory of the worker", end.peakMemory, atMost: 60_000_000)
        let perPush = end.processorTime / .microseconds(1) / Double(total)
        report.note("  processor time of the worker a push", "\(Report.decimals(perPush)) µs")
    }

    /// All in one transaction, as an application would; every token is distinct.
    private func enqueueing(for app: Int32) -> String {
        """
        INSERT INTO carillon.messages (app_id, tokens, payload)
        SELECT \(app), (
            SELECT array_agg(lpad(to_hex(r), 32, '0') || lpad(to_hex(t), 32, '0'))
            FROM generate_series(1, \(self.tokensPerRow)) t),
            '{"aps":{"alert":{"title":"Carillon","body":"Twelve o''clock, and all is well."},"badge":1,"sound":"default"}}'
        FROM generate_series(1, \(self.rows)) r
        """
    }

    /// A figure counts only if every push arrived once and every row was settled.
    private func check(_ installation: Installation, _ total: Int) async throws {
        let delivered = await installation.simulator.statistics()
        let settled = try await installation.connection.query(
            Statement("settled", "SELECT coalesce(sum(sent), 0)::bigint, count(*) FROM carillon.results"),
            Parameters()
        ) { rows in try (sent: rows.int64(0, 0), messages: rows.int64(0, 1)) }
        guard delivered.delivered == total, settled.sent == Int64(total), settled.messages == Int64(self.rows) else {
            throw BenchmarkError(
                "Of \(total) pushes \(delivered.delivered) arrived; \(settled.sent) in \(settled.messages) rows were settled."
            )
        }
    }
}
