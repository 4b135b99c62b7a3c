import ApplePushSimulator
import CarillonIO
import Testing

/// The rate holds for each second, whatever happens to workers.
@Suite struct RateCases {
    @Test func `W19: no second has more pushes than max_rate, while workers start, end and die`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(20) }) { scene in
            // The short case shares its processors with others, and must not use them up.
            let rate = Board.sized(200, full: 500)
            try await scene.client.run("UPDATE carillon.apps SET max_rate = \(rate)")
            let count = Board.sized(2000, full: 30_000)
            try await scene.enqueue(count - 100)
            // A message with many tokens is not sent within one second either.
            try await scene.enqueue(1, tokens: 100)
            for _ in 0..<3 { _ = try scene.fleet.start() }
            for worker in scene.fleet.all { try await worker.started() }
            try await scene.requests(count / 4)
            scene.fleet.running[0].kill()
            try await scene.requests(count * 3 / 8)
            for _ in 0..<2 { _ = try scene.fleet.start() }
            try await scene.requests(count / 2)
            scene.fleet.running[0].terminate()
            try await scene.requests(count * 5 / 8)
            scene.fleet.running[1].kill()
            try await scene.drained(within: .seconds(count / rate + 60))
            let times = scene.record.deliveries.map(\.time).sorted()
            let busiest = Self.most(in: 1000, of: times)
            #expect(busiest <= Self.limit(rate), "\(busiest) in one second")
            // With all workers running: at least 0.85 of it.
            let steady = times[0..<(count / 4)]
            let took = Double(steady[steady.count - 1] - steady[0]) / 1000
            #expect(Double(steady.count) / took >= 0.85 * Double(rate), "\(steady.count) in \(took) s")
            // Two intervals of each of the two that were killed.
            try await scene.finish(duplicates: 2 * rate / 5)
        }
    }

    @Test func `W19: pushes that had to wait for a connection are not sent in one burst`() async throws {
        // Making the connection takes longer than several intervals.
        try await Scene.with({ $0.distance = .milliseconds(400) }) { scene in
            let rate = 200
            try await scene.client.run("UPDATE carillon.apps SET max_rate = \(rate)")
            let count = Board.sized(600, full: 2000)
            try await scene.enqueue(count)
            try await scene.fleet.started()
            try await scene.drained(within: .seconds(count / rate + 60))
            let busiest = Self.most(in: 1000, of: scene.record.deliveries.map(\.time).sorted())
            #expect(busiest <= Self.limit(rate), "\(busiest) in one second")
            try await scene.finish()
        }
    }

    /// What may arrive within a second, with the delay that a busy machine may cause.
    private static func limit(_ rate: Int) -> Int { rate + rate / 5 }

    /// The largest number of events within that many milliseconds.
    private static func most(in window: Int64, of times: [Int64]) -> Int {
        var most = 0
        var first = 0
        for last in times.indices {
            while times[last] - times[first] >= window { first += 1 }
            most = max(most, last - first + 1)
        }
        return most
    }
}
