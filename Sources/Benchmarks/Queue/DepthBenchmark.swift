import CarillonPostgres

/// The cost of depth: the rate out of a deep queue and out of a shallow one, in turn, each in its own database. Only the middle of
/// each run is measured.
struct DepthBenchmark {
    let depth: Int

    private var window: Int { min(300_000, depth / 30) }
    private var warmUp: Int { window / 10 }

    func run(into report: inout Report) async throws {
        try await Installation.with { deep in
            for part in stride(from: 0, to: depth, by: 1_000_000) {
                try await deep.connection.script(deep.enqueueing(min(1_000_000, depth - part)))
            }
            try await deep.settleDown()
            try await Installation.with { shallow in try await compare(deep, shallow, into: &report) }
        }
    }

    private func compare(_ deep: Installation, _ shallow: Installation, into report: inout Report) async throws {
        let shallowDepth = window + 2 * warmUp
        let samples = try await Sample.inTurn(rounds: 3) {
            try await shallow.connection.script("TRUNCATE carillon.messages")
            try await shallow.fill(shallowDepth)
            return try await rate(on: shallow)
        } _: {
            try await rate(on: deep)
        }
        let left = try await deep.number("SELECT count(*) FROM carillon.messages")
        let (fast, slow) = (samples.0.median, samples.1.median)
        report.add("rows a second out of a queue of \(Figure.grouped(Double(shallowDepth)))", fast, .rate)
        report.add("rows a second out of a queue of \(Figure.grouped(Double(depth)))", slow, .rate)
        report.add("  rate from the deep / from the shallow queue", slow / fast, .ratio, .atLeast(0.9))
        report.add("  rows left at the end", Double(left), .count)
    }

    private func rate(on installation: Installation) async throws -> Double {
        try await installation.connection.script("CHECKPOINT")
        let before = await installation.delivered()
        var rate = 0.0
        try await installation.withWorkers { _ in
            let start = try await installation.arrival(of: before + warmUp)
            rate = try await installation.rate(from: start, to: before + warmUp + window)
        }
        return rate
    }
}
