import CarillonHTTPClient
import CarillonIO
import Testing

@testable import CarillonWebhooks

@Suite struct WebhookPolicyTests {
    private static func decide(_ outcome: HTTPOutcome, attempt: Int = 1, failing: Duration? = nil)
        -> WebhookPolicy.Decision
    {
        var generator = SeededGenerator(seed: 1)
        return WebhookPolicy.decide(outcome, attempt: attempt, failing: failing, using: &generator)
    }

    private static func answered(_ status: Int, retryAfter: Duration? = nil) -> HTTPOutcome {
        .answered(status: status, retryAfter: retryAfter)
    }

    private static func wait(_ decision: WebhookPolicy.Decision) -> Duration? {
        if case .retry(let after, _) = decision { after } else { nil }
    }

    @Test(arguments: [200, 201, 204, 299])
    func `a batch is accepted with any status of success`(status: Int) {
        #expect(Self.decide(Self.answered(status), attempt: 9, failing: .seconds(999_999)) == .accepted)
    }

    @Test(arguments: [301, 302, 307, 308, 304, 400, 401, 404, 429, 500, 503])
    func `a batch is attempted again after any other status`(status: Int) {
        guard case .retry(let after, let error) = Self.decide(Self.answered(status)) else {
            Issue.record("\(status) is not attempted again")
            return
        }
        #expect(after > .zero && after <= WebhookPolicy.firstWait)
        #expect(error.contains("\(status)") || error.contains("redirects"))
    }

    @Test func `each wait is longer, up to an hour`() throws {
        var last = Duration.zero
        for attempt in 1...40 {
            let wait = try #require(Self.wait(Self.decide(.failed("it cannot be reached"), attempt: attempt)))
            // With jitter, a wait is at least half of what it may be.
            #expect(wait >= last / 2 && wait <= WebhookPolicy.longestWait, "attempt \(attempt)")
            last = wait
        }
        #expect(last >= WebhookPolicy.longestWait / 2)
    }

    @Test func `a receiver may ask for a longer wait, but not for too long`() {
        #expect(Self.wait(Self.decide(Self.answered(429, retryAfter: .seconds(600)))) == .seconds(600))
        #expect(Self.wait(Self.decide(Self.answered(503, retryAfter: .seconds(999_999)))) == WebhookPolicy.longestWait)
    }

    @Test func `a webhook is paused after three days of failures, or when its receiver is gone`() {
        #expect(Self.wait(Self.decide(Self.answered(500), attempt: 90, failing: .seconds(3 * 86_400 - 1))) != nil)
        #expect(
            Self.decide(Self.answered(500), attempt: 90, failing: .seconds(3 * 86_400))
                == .pause(error: "attempts have failed for three days; at last, the receiver answered 500")
        )
        #expect(Self.decide(Self.answered(410)) == .pause(error: "the receiver answered 410, so it wants no more"))
    }

    @Test func `an error does not say that a receiver was not reached if it was`() throws {
        guard case .retry(_, let error) = Self.decide(.failed("it did not answer in time")) else {
            Issue.record("it is not attempted again")
            return
        }
        #expect(error == "the request to the receiver failed: it did not answer in time")
    }

    @Test func `a request that was stopped is neither accepted nor failed`() {
        #expect(Self.decide(.stopped, failing: .seconds(9 * 86_400)) == .abandon)
    }
}
