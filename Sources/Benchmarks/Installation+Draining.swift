import IO
import Postgres
import Simulator

/// Sending what is in the queue, and seeing that all of it was sent.
extension Installation {
    /// Rows for the time between measurements, which is the same however many rows are measured.
    static let spareRows = 200_000

    /// Has one worker send all that there is.
    func drain() async throws -> (seconds: Double, end: (peakMemory: Int, processorTime: Duration)) {
        let start = MonotonicInstant.now
        let worker = try CommandProcess(serving: self.url)
        let end = try await worker.wait(on: self.loop)
        return ((MonotonicInstant.now - start) / .seconds(1), end)
    }

    /// A figure counts only if every push arrived once and every row was settled.
    func check(sent total: Int, rows: Int) async throws {
        let arrived = await self.delivered()
        let settled = try await self.connection.query(
            Statement("settled", "SELECT coalesce(sum(sent), 0)::bigint, count(*) FROM carillon.results"),
            Parameters()
        ) { rows in try (sent: rows.int64(0, 0), messages: rows.int64(0, 1)) }
        guard arrived == total, settled.sent == Int64(total), settled.messages == Int64(rows) else {
            throw BenchmarkError(
                "Of \(total) pushes \(arrived) arrived; \(settled.sent) in \(settled.messages) rows were settled."
            )
        }
    }

    /// How many pushes have arrived so far.
    func delivered() async -> Int { await self.simulator.statistics().delivered }

    /// Waits until so many pushes have arrived; says how many it were then, and when that was.
    func arrival(of count: Int) async throws -> (pushes: Int, at: MonotonicInstant) {
        var last = (pushes: 0, at: MonotonicInstant.now)
        while true {
            let pushes = await self.delivered()
            let now = MonotonicInstant.now
            if pushes >= count { return (pushes, now) }
            if pushes > last.pushes { last = (pushes, now) }
            if now - last.at > .seconds(60) { throw BenchmarkError("\(pushes) pushes have arrived, and no more come.") }
            // Of few pushes a long pause would miss the end.
            try await self.loop.sleep(for: .milliseconds(count < 100_000 ? 1 : 10))
        }
    }

    /// Pushes that arrive a second, while so many do, beginning now.
    func rate(of pushes: Int) async throws -> Double {
        let start = (pushes: await self.delivered(), at: MonotonicInstant.now)
        return try await self.rate(from: start, to: start.pushes + pushes)
    }

    /// Pushes that arrive a second, from an earlier look on until so many have arrived in all.
    func rate(from start: (pushes: Int, at: MonotonicInstant), to count: Int) async throws -> Double {
        let end = try await self.arrival(of: count)
        guard end.pushes > start.pushes else { throw BenchmarkError("All was over before it was measured: name more.") }
        return Double(end.pushes - start.pushes) / ((end.at - start.at) / .seconds(1))
    }
}
