import ApplePush
import TestSupport
import Testing

/// What every backend promises about outcomes. Where one cannot keep a promise, the test states what it does instead, and why.
@Suite(.timeLimit(.minutes(5))) struct BackendOutcomeTests {
    typealias Kind = BackendUnderTest.Kind

    @Test(arguments: Kind.allCases)
    func `an empty batch has no outcomes and needs no gateway`(kind: Kind) async throws {
        try await BackendUnderTest.with(kind, flaw: .unreachable) { subject in
            let delivered = await subject.deliver(0)
            #expect(delivered.outcomes.isEmpty && delivered.remainder == nil)
            #expect(delivered.outcomes.unsentReason == nil)
        }
    }

    @Test(arguments: Kind.allCases, [1, 2000])
    func `every push has its outcome and arrives once, in the order of the batch`(kind: Kind, count: Int) async throws {
        let script = GatewayScript()
        try await BackendUnderTest.with(kind, script) { subject in
            let delivered = await subject.deliver(count)
            #expect(delivered.outcomes.count == count && delivered.remainder == nil)
            #expect(delivered.outcomes.allSatisfy { $0 == .accepted })
            #expect(script.accepted == Array(0..<count))
        }
    }

    @Test(arguments: Kind.allCases)
    func `a refused token among good ones affects no other`(kind: Kind) async throws {
        let script = GatewayScript { number, _ in number == 17 ? .refuse : .accept }
        try await BackendUnderTest.with(kind, script) { subject in
            let outcomes = await subject.deliver(50).outcomes
            for (number, outcome) in outcomes.enumerated() where number != 17 { #expect(outcome == .accepted) }
            #expect(outcomes[17].verdict == .rejected && outcomes[17].reason == .badDeviceToken)
            #expect(outcomes[17].action == .failToken && !outcomes[17].isRetryable)
            #expect(script.accepted.sorted() == (0..<50).filter { $0 != 17 })
        }
    }

    @Test(arguments: Kind.allCases)
    func `a dead token is known as dead`(kind: Kind) async throws {
        let script = GatewayScript { number, _ in number == 3 ? .dead : .accept }
        try await BackendUnderTest.with(kind, script) { subject in
            let outcomes = await subject.deliver(5).outcomes
            if kind.isBinary {
                // The protocol has no such answer: the gateway's feedback service lists the token.
                #expect(outcomes[3] == .accepted)
            } else {
                #expect(outcomes[3].action == .deleteToken && outcomes[3].status == 410)
                #expect(outcomes[3].timestamp == 1_700_000_000_000)
            }
            #expect(outcomes.enumerated().allSatisfy { $0 == 3 || $1 == .accepted })
        }
    }

    @Test(arguments: Kind.allCases)
    func `a token that is not hexadecimal is not sent, and affects no other`(kind: Kind) async throws {
        let script = GatewayScript()
        try await BackendUnderTest.with(kind, script) { subject in
            var pushes = batch(2, digits: 64)
            pushes.addPush("no hex", heading: 0, id: PushID(high: 1, low: 1))
            let outcomes = await subject.backend.deliver(pushes, to: subject.gateway, with: subject.credential)
            #expect(outcomes.map(\.verdict) == [.accepted, .accepted, .rejected])
            #expect(outcomes[2].reason == .malformedToken && outcomes[2].status == 0)
            #expect(script.arrivals == [0, 1])
        }
    }

    @Test(arguments: Kind.allCases, [BackendUnderTest.Flaw.unreachable, .untrusted])
    func `when no connection can be made, every push is safe and the reason is told`(
        kind: Kind,
        flaw: BackendUnderTest.Flaw
    ) async throws {
        let script = GatewayScript()
        try await BackendUnderTest.with(kind, script, flaw: flaw) { subject in
            let outcomes = await subject.deliver(20).outcomes
            #expect(outcomes.count == 20 && outcomes.allSatisfy { $0.verdict == .safe })
            #expect(outcomes.connectFailure?.code == flaw.error.code)
            #expect(script.arrivals.isEmpty)
        }
    }

    @Test(arguments: Kind.allCases)
    func `after a lost connection, each outcome is true, and retrying safe pushes duplicates none`(
        kind: Kind
    ) async throws {
        let script = GatewayScript { number, earlier in number == 7 && earlier == 0 ? .cut : .accept }
        try await BackendUnderTest.with(kind, script, room: 10) { subject in
            let outcomes = await subject.deliver(40).outcomes
            #expect(outcomes[7].verdict == .unknown)
            let accepted = script.accepted
            for (number, outcome) in outcomes.enumerated() {
                let times = accepted.count { $0 == number }
                let isTrue =
                    switch outcome.verdict {
                    case .accepted: times == 1
                    case .safe: times == 0
                    case .unknown: times <= 1
                    case .rejected, .pending: false
                    }
                #expect(isTrue, "\(number) is \(outcome.verdict), accepted \(times) times")
            }
            var again = batch(0)
            let heading = again.addHeading("{}", topic: "org.example.app")
            let all = batch(40, digits: 64)
            for number in outcomes.indices where outcomes[number].verdict == .safe {
                let (token, id) = (all.token(of: number), all.id(of: number))
                again.addPush(token, heading: heading, id: id)
            }
            let retried = await subject.backend.deliver(again, to: subject.gateway, with: subject.credential)
            #expect(retried.allSatisfy { $0 == .accepted })
            #expect(Set(script.accepted).count == script.accepted.count)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a push that is sent again carries the same identity`(kind: Kind) async throws {
        let script = GatewayScript { number, earlier in number == 3 && earlier == 0 ? .cut : .accept }
        try await BackendUnderTest.with(kind, script) { subject in
            let apns = APNs(
                Session(backend: subject.backend).connection(to: subject.gateway, credential: subject.credential)
            )
            let tokens = (0..<5).map { batch(5, digits: 64).token(of: $0) }
            let result = try await apns.send(try Message(tokens: tokens, alert: "Hello", topic: "org.example.app"))
            let retry = try #require(result.retry())
            #expect(retry.tokens.contains(tokens[3]))
            #expect(try await apns.send(retry).accepted == retry.tokens.count)
            #expect(script.arrivals.count { $0 == 3 } == 2)
            if kind.isBinary {
                // A notification carries no identity that outlives its connection.
                #expect(script.ids.isEmpty)
            } else if let recorded = subject.backend as? RecordedBackend {
                #expect(Set(recorded.sent.filter { $0.token == tokens[3] }.map(\.id)) == [result.pushes[3].id])
            } else {
                #expect(script.ids[3] == [result.pushes[3].id])
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `a delivery may return before its slow pushes have ended, and the remainder tells them`(kind: Kind)
        async throws
    {
        let script = GatewayScript { number, _ in number == 2 ? .refuse : number == 3 ? .hold : .accept }
        try await BackendUnderTest.with(kind, script) { subject in
            let early = await subject.deliver(10, DeliveryTerms(returnAfter: .milliseconds(50)))
            var outcomes = early.outcomes
            if kind == .recorded {
                // Its answers come at once, so nothing is slow.
                #expect(early.remainder == nil)
            } else {
                #expect(outcomes[3...].allSatisfy { $0.verdict == .pending })
                #expect(outcomes[..<3].contains { $0.verdict != .pending })
                script.gate.open()
                outcomes = try #require(await early.remainder?.outcomes())
            }
            for (number, outcome) in outcomes.enumerated() {
                #expect(number == 2 ? outcome.reason == .badDeviceToken : outcome == .accepted)
                #expect([outcome.verdict, .pending].contains(early.outcomes[number].verdict))
            }
            #expect(script.accepted == (0..<10).filter { $0 != 2 })
        }
    }

    @Test(arguments: Kind.allCases)
    func `a delivery that ends in time has no remainder`(kind: Kind) async throws {
        try await BackendUnderTest.with(kind) { subject in
            let terms = DeliveryTerms(returnAfter: .seconds(600), permit: SendingPermit(for: .seconds(600)))
            let delivered = await subject.deliver(20, terms)
            #expect(delivered.remainder == nil && delivered.outcomes.allSatisfy { $0 == .accepted })
        }
    }
}
