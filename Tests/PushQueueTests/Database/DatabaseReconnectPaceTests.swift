import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct DatabaseReconnectPaceTests {
    @Test func `waits after failed tries grow to three seconds`() {
        var pace = DatabaseReconnectPace(seed: 1)
        #expect(pace.maxWait == .milliseconds(50))
        for _ in 0..<20 { _ = pace.next() }
        #expect(pace.maxWait == .seconds(3))
        let waits = (0..<100).map { _ in pace.next() }
        #expect((.seconds(2)...(.seconds(3))).contains(waits.max() ?? .zero))
        #expect(waits.min() ?? .seconds(3) <= .seconds(1))
        pace.connected(at: .now)
        #expect(pace.maxWait <= .milliseconds(50))
    }

    @Test func `waits grow while connections end through faults of the worker`() {
        var pace = DatabaseReconnectPace(seed: 1)
        var now = MonotonicInstant(nanoseconds: 0)
        var connections = 0
        while now < MonotonicInstant(nanoseconds: 0) + .seconds(300) {
            now = now + pace.next()
            pace.connected(at: now)
            connections += 1
            now = now + .milliseconds(50)
            pace.disconnected(at: now, isOwnFault: true)
        }
        #expect(connections < 40)
        #expect((.seconds(20)...(.seconds(30))).contains(pace.maxWait))
    }

    @Test func `lost connections are made again at once, however often`() {
        var pace = DatabaseReconnectPace(seed: 1)
        for _ in 0..<20 {
            pace.connected(at: .now)
            pace.disconnected(at: .now, isOwnFault: false)
            #expect(pace.maxWait <= .milliseconds(50))
        }
    }

    @Test func `a connection that has lasted resets the wait after faults`() {
        var pace = DatabaseReconnectPace(seed: 1)
        var now = MonotonicInstant(nanoseconds: 0)
        for _ in 0..<4 {
            pace.connected(at: now)
            pace.disconnected(at: now, isOwnFault: true)
        }
        #expect(pace.maxWait > .milliseconds(600))
        pace.connected(at: now)
        pace.disconnected(at: now + .seconds(1), isOwnFault: false)
        #expect(pace.maxWait > .milliseconds(600))
        pace.connected(at: now)
        now = now + .seconds(8)
        pace.disconnected(at: now, isOwnFault: true)
        #expect(pace.maxWait <= .milliseconds(100))
    }
}
