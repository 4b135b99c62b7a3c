import CarillonIO
import TestSupport
import Testing

@testable import Carillon

@Suite struct LargeCallsTests {
    @Test func `large calls are carried out one after another, on their own thread`() async throws {
        try await TestLoop.with { loop in
            let calls = LargeCalls(on: loop, longestWait: .seconds(600))
            let running = Guarded((now: 0, peak: 0))
            let ended = await withTaskGroup(of: Bool?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        await calls.run {
                            running.withLock { running in
                                running.now += 1
                                running.peak = max(running.peak, running.now)
                            }
                            for _ in 0..<10 { await Task.yield() }
                            running.withLock { $0.now -= 1 }
                            return await Self.isOn(loop)
                        }
                    }
                }
                return await group.reduce(into: [Bool?]()) { $0.append($1) }
            }
            #expect(ended == Array(repeating: true, count: 20))
            #expect(running.withLock { $0.peak } == 1)
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
