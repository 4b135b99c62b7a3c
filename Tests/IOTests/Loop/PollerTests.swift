import Testing

@testable import CarillonIO

@Suite struct PollerTests {
    /// One of many must be as short: on a busy machine others are late.
    @Test func `a wait is not rounded up to whole milliseconds, and never early`() throws {
        var poller = try Poller()
        var shortest = Duration.seconds(1)
        for _ in 0..<1_000 where shortest >= .microseconds(900) {
            let start = MonotonicInstant.now
            while MonotonicInstant.now < start + .microseconds(100) {
                let count = poller.wait(until: start + .microseconds(100))
                #expect(count == 0)
            }
            shortest = min(shortest, MonotonicInstant.now - start)
        }
        #expect(shortest >= .microseconds(100) && shortest < .microseconds(900))
    }
}
