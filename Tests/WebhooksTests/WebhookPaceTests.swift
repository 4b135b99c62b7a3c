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
