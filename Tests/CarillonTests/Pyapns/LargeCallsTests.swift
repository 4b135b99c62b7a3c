import CarillonIO
import TestSupport
import Testing

@testable import Carillon

@Suite struct LargeCallsTests {
    /// How many calls run, and the most that ever did.
    private final class Running: Sendable {
        private let counts = Guarded((now: 0, peak: 0))

        var peak: Int { counts.withLock { $0.peak } }

        func begin() {
            counts.withLock { counts in
                counts.now += 1
                counts.peak = max(counts.peak, counts.now)
            }
        }

        func end() { counts.withLock { $0.now -= 1 } }
    }

    @Test func `large calls are carried out one after another, on their own thread`() async throws {
        try await TestLoop.with { loop in
            let calls = LargeCalls(on: loop, longestWait: .seconds(600))
            let running = Running()
            let ended = await withTaskGroup(of: Bool?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        await calls.run {
                            running.begin()
                            for _ in 0..<10 { await Task.yield() }
                            running.end()
                            return await Self.isOn(loop)
                        }
                    }
                }
                return await group.reduce(into: [Bool?]()) { $0.append($1) }
            }
            #expect(ended == Array(repeating: true, count: 20))
            #expect(running.peak == 1)
        }
    }

    @Test func `a large call that has waited too long is not carried out`() async throws {
        try await TestLoop.with { loop in
            let calls = LargeCalls(on: loop, longestWait: .zero)
            let (begun, beginning) = AsyncStream<Void>.makeStream()
            let (end, ending) = AsyncStream<Void>.makeStream()
            async let first = calls.run {
                beginning.finish()
                for await _ in end {}
                return 1
            }
            for await _ in begun {}
            async let second = calls.run { 2 }
            try await loop.eventually("the second waits") { await calls.waiting == 1 }
            ending.finish()
            let (one, two) = (await first, await second)
            #expect(one == 1 && two == nil)
            #expect(await calls.run { 3 } == 3)
        }
    }

    @concurrent private static func isOn(_ loop: EventLoop) async -> Bool { loop.isCurrent }
}
