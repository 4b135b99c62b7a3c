import CarillonIO
import TestSupport
import Testing

@testable import CarillonDashboard

/// What the API tokens of an app leave to those of others.
@Suite struct AppTurnsTests {
    private final class Running: Sendable {
        private let count = Guarded(0)

        /// Returns how many calls ran when it did, with itself.
        func call(_ turns: AppTurns, _ mayEnd: Gate) async throws -> Int {
            try await turns.with("one") {
                let all = count.withLock { count in
                    count += 1
                    return count
                }
                await mayEnd.pass()
                count.withLock { $0 -= 1 }
                return all
            }
        }
    }

    @Test func `an app has one call at a time, and others do not wait for it`() async throws {
        let turns = AppTurns(longestWait: .seconds(60))
        let mayEnd = Gate()
        let running = Running()
        async let first = running.call(turns, mayEnd)
        async let second = running.call(turns, mayEnd)
        async let third = running.call(turns, mayEnd)
        try await TestLoop.shared.eventually("all have come") { await turns.calls(of: "one") == 3 }
        #expect(try await turns.with("two") { true })
        mayEnd.open()
        let others = [try await first, try await second, try await third]
        #expect(others == [1, 1, 1])
    }

    @Test func `a call that has waited too long for those of its app is not made`() async throws {
        let turns = AppTurns(longestWait: .zero)
        let (mayEnd, began) = (Gate(), Gate())
        async let first: Void = turns.with("one") {
            began.open()
            await mayEnd.pass()
        }
        await began.pass()
        async let second: Void = turns.with("one") { Issue.record("it was made") }
        try await TestLoop.shared.eventually("the second waits") { await turns.calls(of: "one") == 2 }
        mayEnd.open()
        try await first
        do {
            try await second
            Issue.record("the second call was made")
        } catch let error as RequestError {
            #expect(error.status == .serviceUnavailable)
        }
        try await turns.with("one") {}
    }

    @Test func `an app has half of the places for requests that wait for events`() {
        let waiting = WaitingRequests()
        func take(_ holder: String) -> Int? { waiting.take(WaitingRequests.Place(holder: holder, bell: Bell())) }
        for _ in 0..<WaitingRequests.share { #expect(take("one") != nil) }
        #expect(take("one") == nil)
        let places = (0..<WaitingRequests.share).compactMap { _ in take("two") }
        #expect(places.count == WaitingRequests.share && take("three") == nil)
        waiting.free(places[0])
        #expect(take("one") == nil && take("three") != nil)
    }
}
