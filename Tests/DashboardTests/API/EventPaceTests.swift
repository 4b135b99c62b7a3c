import CarillonIO
import Testing

@testable import CarillonDashboard

@Suite struct EventPaceTests {
    @Test func `a request that hears no notifications asks every second`() {
        let now = MonotonicInstant.now
        #expect(EventPace(askedAt: now, isListening: false).next == now + .seconds(1))
    }

    @Test func `a request that hears them asks every five seconds, or a second after the last time if notified`() {
        let now = MonotonicInstant.now
        var pace = EventPace(askedAt: now, isListening: true)
        #expect(pace.next == now + .seconds(5))
        pace.notified()
        #expect(pace.next == now + .seconds(1))
    }
}
