import Testing

@testable import ApplePushSimulator

/// The audit itself finds each breach.
@Suite struct AuditTests {
    private static let token = Scene.token("", 1)
    private static let message = Ledger.Message(reference: "m0", tokens: [token], payload: "{}", mayRepeat: true)

    private func delivery(
        to token: String = Self.token,
        id: String = "a",
        payload: String = "{}",
        status: Int? = 200,
        reason: String? = nil
    ) -> ReceivedRequest {
        ReceivedRequest(
            time: 0,
            connection: 1,
            stream: 1,
            apnsID: id,
            token: token,
            topic: Scene.topic,
            pushType: "alert",
            priority: "10",
            expiration: nil,
            collapseID: nil,
            authorization: nil,
            channelAction: nil,
            channel: nil,
            payload: Array(payload.utf8),
            status: status,
            reason: reason
        )
    }

    private func breaches(
        sent: Int = 1,
        failures: [RecordedOutcomes.Failure] = [],
        _ deliveries: [ReceivedRequest],
        _ change: (inout RecordedOutcomes) -> Void = { _ in },
        _ allowance: Audit.Allowance = Audit.Allowance()
    ) -> [String] {
        let ledger = Ledger()
        ledger.committed([Self.message])
        var outcomes = RecordedOutcomes()
        outcomes.results["m0"] = [RecordedOutcomes.Result(sent: sent, failed: failures.count, expired: 0, cancelled: 0)]
        outcomes.failures["m0"] = failures.isEmpty ? nil : failures
        change(&outcomes)
        return Audit(ledger, outcomes, deliveries, allowance).breaches.map(\.invariant)
    }

    @Test func `a push sent once and answered with 200 is no breach`() {
        #expect(breaches([delivery()]) == [])
    }

    @Test func `a message without a result, or with two, is a breach`() {
        #expect(breaches([delivery()]) { $0.results = [:] } == ["I1"])
        let again = RecordedOutcomes.Result(sent: 1, failed: 0, expired: 0, cancelled: 0)
        #expect(breaches([delivery()]) { $0.results["m0"]?.append(again) } == ["I1"])
    }

    @Test func `a success that the gateway did not receive, or with another body, is a breach`() {
        #expect(breaches([]) == ["I2"])
        #expect(breaches([delivery(status: 503, reason: "Shutdown")]) == ["I2"])
        #expect(breaches([delivery(payload: "{\"a\":1}")]) == ["I2"])
    }

    @Test func `a failure with a reason that no answer had is a breach`() {
        let unregistered = RecordedOutcomes.Failure(token: Self.token, status: 410, reason: "Unregistered", attempt: 1)
        let poison = RecordedOutcomes.Failure(token: Self.token, status: nil, reason: "Poison", attempt: 1)
        #expect(breaches(sent: 0, failures: [unregistered], [delivery()]) == ["I3"])
        #expect(breaches(sent: 0, failures: [unregistered], [delivery(status: 410, reason: "Unregistered")]) == [])
        #expect(breaches(sent: 0, failures: [poison], []) == ["I3"])
        #expect(breaches(sent: 0, failures: [poison], [], { _ in }, .init(localReasons: ["Poison"])) == [])
    }

    @Test func `duplicates beyond the bound are a breach`() {
        let twice = [delivery(), delivery()]
        #expect(breaches(twice) == ["I4"])
        #expect(breaches(twice, { _ in }, .init(duplicates: 1)) == [])
    }

    @Test func `a second send of another push is a breach`() {
        let retried = [delivery(status: 503, reason: "Shutdown"), delivery(id: "b")]
        #expect(breaches(retried) == ["I5"])
        #expect(breaches([delivery(status: 503), delivery(payload: "{\"a\":1}")]).contains("I5"))
    }

    @Test func `pushes that were not enqueued, and jobs that are left, are breaches`() {
        #expect(breaches([delivery(), delivery(to: "ff", id: "b")]) == ["I1"])
        #expect(breaches([delivery()]) { $0.inFlight = 1 } == ["I6"])
        #expect(breaches([delivery()]) { $0.waiting = 1 } == ["I1"])
        #expect(breaches([delivery()]) { $0.deadlocks = 1 } == ["I15"])
    }

    @Test func `a commit of unknown outcome is right either way`() {
        let ledger = Ledger()
        ledger.unsure([Self.message])
        #expect(Audit(ledger, RecordedOutcomes(), [], Audit.Allowance()).breaches.isEmpty)
        #expect(Audit(ledger, RecordedOutcomes(), [delivery()], Audit.Allowance()).breaches.map(\.invariant) == ["I1"])
    }
}
