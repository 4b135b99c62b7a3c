import CarillonIO
import Testing

@testable import CarillonWebhooks

@Suite struct WebhookPaceTests {
    private static let start = MonotonicInstant.now

    @Test func `a worker looks at once when it starts`() {
        #expect(WebhookPace().next.map { $0 <= .now } == true)
    }

    @Test func `while there are no webhooks, a worker looks only when it is notified`() {
        var pace = WebhookPace()
        pace.looks()
        pace.looked(at: Self.start, wait: nil)
        #expect(pace.next == nil)
        pace.notified()
        #expect(pace.next == Self.start + .seconds(1))
    }

    @Test func `a worker looks when a batch is due, and after many notifications once a second`() {
        var pace = WebhookPace()
        pace.looks()
        pace.looked(at: Self.start, wait: .seconds(60))
        #expect(pace.next == Self.start + .seconds(60))
        pace.notified()
        pace.notified()
        #expect(pace.next == Self.start + .seconds(1))
        pace.looks()
        pace.looked(at: Self.start + .seconds(1), wait: .milliseconds(100))
        #expect(pace.next == Self.start + .milliseconds(1_100))
    }

    @Test func `what happens during a look is not forgotten`() {
        var pace = WebhookPace()
        pace.looks()
        pace.notified()
        pace.accepted()
        pace.looked(at: Self.start, wait: nil)
        // A receiver that has accepted a batch gets the next one at once.
        #expect(pace.next == Self.start)
        pace.looks()
        pace.looked(at: Self.start, wait: nil)
        #expect(pace.next == nil)
    }
}
