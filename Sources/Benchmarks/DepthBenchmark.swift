import IO
import Postgres

/// Whether depth costs: the whole way out of a deep queue and out of a shallow one, in turn. Each is a database of its
/// own; what is measured is the middle of a run, without its beginning and end.
struct DepthBenchmark {
    let depth: Int
    private let rounds = 3

    private var window: Int { min(300_000, self.depth / 30) }
    private var warmUp: Int { self.window / 10 }

    func run(into report: inout Report) async throws {
        try await Installation.with { deep in
            let start = MonotonicInstant.now
            for part in stride(from: 0, to: self.depth, by: 1_000_000) {
                try await deep.connection.script(deep.enqueueing(min(1_000_000, self.depth - part)))
            }
            try await deep.rest()
            let time = (MonotonicInstant.now - start) / .seconds(1)
            print("  (\(Report.grouped(Double(self.depth))) rows were enqueued in \(Report.grouped(time)) s)")
            try await Installation.with { shallow in
                try await self.compare(deep, shallow, into: &report)
            }
        }
    }

    private func compare(
        _ deep: Installation,
        _ shallow: Installation,
        into report: inout Report
    ) async throws {
        var deepRates: [Double] = []
        var shallowRates: [Double] = []
        for _ in 0..<self.rounds {
            try await shallow.connection.script("TRUNCATE carillon.messages")
            try await shallow.fill(self.window + 2 * self.warmUp)
            shallowRates.append(try await self.rate(on: shallow))
            deepRates.append(try await self.rate(on: deep))
        }
        let left = try await deep.number("SELECT count(*) FROM carillon.messages")
        let (slow, fast) = (Sample(deepRates).median, Sample(shallowRates).median)
        let names = (Report.grouped(Double(self.depth)), Report.grouped(Double(self.window + 2 * self.warmUp)))
        report.note("rows a second out of a queue of \(names.1)", Report.grouped(fast))
        report.note("rows a second out of a queue of \(names.0)", Report.grouped(slow))
        report.ratio("  deep / shallow", slow / fast, atLeast: 0.9)
        report.note("  rows left at the end", Report.grouped(Double(left)))
    }

    private func rate(on installation: Installation) async throws -> Double {
        try await installation.connection.script("CHECKPOINT")
        let before = await installation.delivered()
        let worker = try CommandProcess(serving: installation.url, once: false)
        do {
            let start = try await installation.arrival(of: before + self.warmUp)
            let rate = try await installation.rate(from: start, to: before + self.warmUp + self.window)
            try await worker.stop(on: installation.loop)
            return rate
        } catch {
            worker.kill()
            throw error
        }
    }
}
