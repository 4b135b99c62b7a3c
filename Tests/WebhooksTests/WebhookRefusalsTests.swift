import CarillonIO
import Testing

@testable import CarillonWebhooks

@Suite struct WebhookRefusalsTests {
    @Test func `the waits after refusals of a kind of statement grow to two seconds, until one succeeds`() {
        var refusals = WebhookRefusals()
        var random = SeededGenerator(seed: 1)
        let now = MonotonicInstant.now
        var waits: [Duration] = []
        for _ in 1...20 {
            refusals.refused("claim", at: now, using: &random)
            waits.append((refusals.next("claim") ?? now) - now)
        }
        #expect(waits[0] <= .milliseconds(100) && waits[0] > .zero)
        #expect(waits.suffix(10).allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(2) })
        #expect(refusals.next("settle") == nil)
        refusals.succeeded("claim")
        #expect(refusals.next("claim") == nil)
    }
}
