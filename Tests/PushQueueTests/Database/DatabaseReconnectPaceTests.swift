import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct DatabaseReconnectPaceTests {
    private var generator = SeededGenerator(seed: 1)

    /// The longest of many waits that it could be now.
    private func longest(_ pace: DatabaseReconnectPace) -> Duration {
        var generator = self.generator
        return (0..<100).map { _ in
            var pace = pace
            return pace.next(using: &generator)
        }.max() ?? .zero
    }

    @Test func `waits after failed tries grow to three seconds`() {
        var pace = DatabaseReconnectPace()
        var generator = self.generator
        #expect((.milliseconds(40)...(.milliseconds(50))).contains(longest(pace)))
        for _ in 0..<20 { _ = pace.next(using: &generator) }
        #expect((.seconds(2)...(.seconds(3))).contains(longest(pace)))
        pace.connected(at: .now)
        #expect(longest(pace) <= .milliseconds(50))
    }

    @Test func `waits grow while connections end through faults of the worker`() {
        var pace = DatabaseReconnectPace()
        var generator = self.generator
        var now = MonotonicInstant(nanoseconds: 0)
        var connections = 0
        while now < MonotonicInstant(nanoseconds: 0) + .seconds(300) {
            now = now + pace.next(using: &generator)
            pace.connected(at: now)
            connections += 1
            now = now + .milliseconds(50)
            pace.disconnected(at: now, isOwnFault: true)
        }
        #expect(connections < 40)
        #expect((.seconds(20)...(.seconds(30))).contains(longest(pace)))
    }

    @Test func `lost connections are made again at once, however often`() {
        var pace = DatabaseReconnectPace()
        for _ in 0..<20 {
            pace.connected(at: .now)
            pace.disconnected(at: .now, isOwnFault: false)
            #expect(longest(pace) <= .milliseconds(50))
        }
    }

    @Test func `a connection that has lasted resets the wait after faults`() {
        var pace = DatabaseReconnectPace()
        var now = MonotonicInstant(nanoseconds: 0)
        for _ in 0..<4 {
            pace.connected(at: now)
            pace.disconnected(at: now, isOwnFault: true)
        }
        #expect(longest(pace) > .milliseconds(600))
        pace.connected(at: now)
        pace.disconnected(at: now + .seconds(1), isOwnFault: false)
        #expect(longest(pace) > .milliseconds(600))
        pace.connected(at: now)
        now = now + .seconds(8)
        pace.disconnected(at: now, isOwnFault: true)
        #expect(longest(pace) <= .milliseconds(100))
    }
}
