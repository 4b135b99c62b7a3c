import CarillonIO
import Testing

@testable import CarillonWebhooks

@Suite struct WebhookPaceTests {
    private static let start = MonotonicInstant.now

    @Test func `a worker asks at once when it starts`() {
        #expect(WebhookPace().next.map { $0 <= .now } == true)
    }

    @Test func `while there are no webhooks, a worker asks only when it is notified`() {
        var pace = WebhookPace()
        pace.asks()
        pace.asked(at: Self.start, wait: nil)
        #expect(pace.next == nil)
        pace.notified()
        #expect(pace.next == Self.start + .seconds(1))
    }

    @Test func `a worker asks when a batch is due, and after many notifications once a second`() {
        var pace = WebhookPace()
        pace.asks()
        pace.asked(at: Self.start, wait: .seconds(60))
        #expect(pace.next == Self.start + .seconds(60))
        pace.notified()
        pace.notified()
        #expect(pace.next == Self.start + .seconds(1))
        pace.asks()
        pace.asked(at: Self.start + .seconds(1), wait: .milliseconds(100))
        #expect(pace.next == Self.start + .milliseconds(1_100))
    }

    @Test func `a worker asks when the attempt that it has put off is due, though PostgreSQL knew only its claim`() {
        var pace = WebhookPace()
        pace.asks()
        pace.asked(at: Self.start, wait: .seconds(60))
        pace.failed(until: Self.start + .seconds(9))
        pace.failed(until: Self.start + .seconds(4))
        #expect(pace.next == Self.start + .seconds(4))
        // The attempt ends before the answer about what is due.
        pace.asks()
        pace.failed(until: Self.start + .seconds(20))
        pace.asked(at: Self.start + .seconds(4), wait: .seconds(56))
        #expect(pace.next == Self.start + .seconds(20))
        pace.asks()
        pace.asked(at: Self.start + .seconds(20), wait: nil)
        #expect(pace.next == nil)
    }

    @Test func `what happens while it asks is not forgotten`() {
        var pace = WebhookPace()
        pace.asks()
        pace.notified()
        pace.accepted()
        pace.asked(at: Self.start, wait: nil)
        // A receiver that has accepted a batch gets the next one at once.
        #expect(pace.next == Self.start)
        pace.asks()
        pace.asked(at: Self.start, wait: nil)
        #expect(pace.next == nil)
    }
}
