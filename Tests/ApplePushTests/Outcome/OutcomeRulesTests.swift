import Testing

@testable import ApplePush

@Suite struct OutcomeRulesTests {
    private func answer(_ status: UInt16, _ body: String, retryAfter: Int32? = nil) -> (
        outcome: Outcome, reason: String
    ) {
        var outcomes = Outcomes(repeating: .accepted, count: 1)
        let outcome = OutcomeRules.outcome(
            status: status,
            retryAfter: retryAfter,
            body: body.utf8Span.span.bytes,
            keeping: &outcomes
        )
        return (outcome, outcomes.text(of: outcome.reason))
    }

    @Test(arguments: [
        (OutcomeRules.PushEnding.neverSubmitted, Outcome.Verdict.safe),
        (.streamEnded(status: 0, isSurelyUnprocessed: true), .safe),
        (.streamEnded(status: 0, isSurelyUnprocessed: false), .unknown),
        (.streamEnded(status: 410, isSurelyUnprocessed: false), .unknown),
        (.streamEnded(status: 200, isSurelyUnprocessed: false), .accepted),
        (.unsendable, .rejected),
    ])
    func `without a full answer a push is safe only if it was certainly not processed`(
        ending: OutcomeRules.PushEnding,
        verdict: Outcome.Verdict
    ) {
        #expect(OutcomeRules.outcome(of: ending).verdict == verdict)
    }

    @Test func `control characters in a reason are replaced`() {
        #expect(answer(400, "{\"reason\":\"a\u{0}b\"}").reason == "a?b")
    }

    @Test func `200 is accepted, whatever the body`() {
        #expect(answer(200, "").outcome == .accepted)
        #expect(answer(200, #"{"reason":"Unregistered"}"#).outcome == .accepted)
    }

    @Test func `every other status is a rejection with its reason`() {
        for (reason, status) in Reason.all {
            let name = reason.name ?? ""
            let answer = self.answer(status, #"{"reason":"\#(name)"}"#)
            #expect(answer.outcome.verdict == .rejected)
            #expect(answer.outcome.status == status)
            #expect(answer.outcome.reason == reason)
            #expect(answer.reason == name)
        }
    }

    @Test func `a timestamp is valid only with 410`() {
        let body = #"{"reason":"Unregistered","timestamp":1700000000123}"#
        #expect(answer(410, body).outcome.timestamp == 1_700_000_000_123)
        #expect(answer(400, body).outcome.timestamp == nil)
    }

    @Test func `the gateway's Retry-After is kept`() {
        #expect(answer(429, #"{"reason":"TooManyRequests"}"#, retryAfter: 12).outcome.retryAfter == 12)
        #expect(answer(429, #"{"reason":"TooManyRequests"}"#).outcome.retryAfter == nil)
    }

    @Test(arguments: [
        "", "{", "}", "null", "[]", "<html>Bad Gateway</html>", #"{"reason"}"#, #"{"reason":}"#, #"{"reason":"Unreg"#,
        #"{"reason":null}"#, #"{"reason":7}"#, #"{"reason":["Unregistered"]}"#, #""reason""#, #"{"reason":""}"#,
        "\u{0}\u{1}\u{2}", #"{"a":"\"#, #"{"other":"Unregistered"}"#,
    ])
    func `without a reason in the body the status decides`(body: String) {
        let answer = self.answer(410, body)
        #expect(answer.outcome.verdict == .rejected)
        #expect(answer.outcome.reason == .none)
        #expect(answer.outcome.action == .deleteToken)
        #expect(self.answer(503, body).outcome.isRetryable)
    }

    @Test(arguments: [
        #"{"timestamp":1700000000123,"reason":"Unregistered"}"#,
        " { \"reason\" : \"Unregistered\" ,\r\n\t\"timestamp\" : 1700000000123 } ",
        #"{"x":"\"reason\":\"BadTopic\"","reason":"Unregistered","y":true,"timestamp":1700000000123}"#,
    ])
    func `a body may have any JSON formatting`(body: String) {
        let answer = self.answer(410, body)
        #expect(answer.reason == "Unregistered")
        #expect(answer.outcome.timestamp == 1_700_000_000_123)
    }

    @Test(arguments: ["-1", "1e30", "1.5", "\"1700000000123\"", "99999999999999999999", "true", "null"])
    func `an invalid timestamp is ignored`(timestamp: String) {
        let answer = self.answer(410, #"{"reason":"Unregistered","timestamp":\#(timestamp)}"#)
        #expect(answer.reason == "Unregistered")
        #expect(answer.outcome.timestamp == nil)
    }

    @Test func `a long reason is cut`() {
        let answer = self.answer(400, #"{"reason":"\#(String(repeating: "x", count: 4000))"}"#)
        #expect(answer.reason == String(repeating: "x", count: 100))
    }
}
