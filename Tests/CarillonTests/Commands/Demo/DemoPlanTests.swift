import Testing

@testable import Carillon

@Suite struct DemoPlanTests {
    @Test(arguments: [100, 101, 999, 20_000])
    func `the kinds add up, each is there, and no token comes twice`(messages: Int) {
        let plan = DemoPlan(messages: messages)
        #expect(DemoPlan.Kind.allCases.reduce(0) { $0 + plan.count(of: $1) } == messages)
        #expect(DemoPlan.Kind.allCases.allSatisfy { plan.count(of: $0) > 0 })
        let tokens = plan.mixedTokens()
        #expect(tokens.count == messages && Set(tokens).count == messages)
        #expect(tokens.allSatisfy { $0.count == 64 })
        #expect(plan.expectedSent + plan.expectedFailed == messages)
    }

    @Test func `every tenth of the tokens holds a mix`() {
        let tokens = DemoPlan(messages: 2_000).mixedTokens()
        for start in stride(from: 0, to: 2_000, by: 200) {
            #expect(Set(tokens[start..<start + 200].compactMap(DemoPlan.kind)).count == DemoPlan.Kind.allCases.count)
        }
    }
}

@Suite struct DemoAuditTests {
    private let plan = DemoPlan(messages: 200)

    private var recorded: DemoAudit.Recorded {
        var recorded = DemoAudit.Recorded()
        recorded.sent = plan.expectedSent
        recorded.failed = plan.expectedFailed
        recorded.failuresByReason = [
            "Unregistered": plan.count(of: .dead) + plan.count(of: .renewed), "BadDeviceToken": plan.count(of: .bad),
        ]
        recorded.retried = plan.count(of: .throttled)
        recorded.reaped = plan.count(of: .dead)
        recorded.tokensLeft = plan.messages - plan.count(of: .dead)
        return recorded
    }

    private var answered: DemoAudit.Answered {
        var answered = DemoAudit.Answered()
        let statuses: [DemoPlan.Kind: [Int]] = [
            .good: [200], .throttled: [429, 200], .dead: [410], .renewed: [410], .bad: [400],
        ]
        for kind in DemoPlan.Kind.allCases {
            for token in plan.tokens(of: kind) {
                for status in statuses[kind, default: []] { answered.add(token, status: status) }
            }
        }
        return answered
    }

    @Test func `a run that went as planned passes`() {
        #expect(DemoAudit(plan: plan, recorded: recorded, answered: answered).holds)
    }

    @Test func `a push that arrived twice is found`() {
        var answered = answered
        answered.add(plan.tokens(of: .good)[0], status: 200)
        #expect(!DemoAudit(plan: plan, recorded: recorded, answered: answered).holds)
    }

    @Test func `a push that is counted and never arrived is found`() {
        var fewer = DemoAudit.Answered()
        for token in plan.mixedTokens().dropFirst() { fewer.add(token, status: 200) }
        #expect(!DemoAudit(plan: plan, recorded: recorded, answered: fewer).holds)
    }

    @Test(arguments: 0..<6)
    func `a count that is off by one is found`(which: Int) {
        let counts: [WritableKeyPath<DemoAudit.Recorded, Int>] = [
            \.sent, \.failed, \.retried, \.reaped, \.tokensLeft, \.stillPending,
        ]
        var recorded = recorded
        recorded[keyPath: counts[which]] += 1
        #expect(!DemoAudit(plan: plan, recorded: recorded, answered: answered).holds)
    }
}
