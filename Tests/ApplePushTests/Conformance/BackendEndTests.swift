import ApplePush
import CarillonIO
import TestSupport
import Testing

/// What every backend promises when it must not send any more: the permit ends, the task is cancelled, the backend is shut
/// down.
@Suite(.timeLimit(.minutes(5))) struct BackendEndTests {
    typealias Kind = BackendUnderTest.Kind

    /// All that was accepted is delivered. The rest is safe, for that reason, and was never sent.
    private func check(_ outcomes: Outcomes, _ script: GatewayScript, _ code: PushError.Code) {
        let accepted = Set(script.accepted)
        for (number, outcome) in outcomes.enumerated() {
            #expect(outcome.verdict == (accepted.contains(number) ? .accepted : .safe), "\(number)")
        }
        #expect(script.arrivals.count == accepted.count)
        #expect(outcomes.unsentReason?.code == code)
    }

    @Test(arguments: Kind.allCases)
    func `without a permit in force nothing is sent, and no connection is made`(kind: Kind) async throws {
        let script = GatewayScript()
        try await BackendUnderTest.with(kind, script) { subject in
            let permit = SendingPermit(for: .seconds(600))
            permit.revoke()
            let delivered = await subject.deliver(20, DeliveryTerms(permit: permit))
            #expect(delivered.remainder == nil)
            check(delivered.outcomes, script, .cancelled)
            #expect(script.arrivals.isEmpty && subject.connections() == 0)
        }
    }

    @Test(arguments: Kind.allCases)
    func `when the permit ends, what is in flight is answered, and nothing is sent afterwards`(kind: Kind) async throws
    {
        let permit = SendingPermit(for: .seconds(600))
        let script = GatewayScript { number, _ in
            if number == 2 { permit.revoke() }
            return .accept
        }
        try await BackendUnderTest.with(kind, script, room: 5) { subject in
            let outcomes = await subject.deliver(20, DeliveryTerms(permit: permit)).outcomes
            check(outcomes, script, .cancelled)
            #expect(outcomes[2] == .accepted && outcomes[19].verdict == .safe)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a cancelled task sends nothing`(kind: Kind) async throws {
        let script = GatewayScript()
        try await BackendUnderTest.with(kind, script) { subject in
            let delivering = Task {
                while !Task.isCancelled { await Task.yield() }
                return await subject.deliver(20).outcomes
            }
            delivering.cancel()
            check(await delivering.value, script, .cancelled)
            #expect(script.arrivals.isEmpty)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a task that is cancelled while it sends is told what it sent, and sends no more`(kind: Kind) async throws {
        let delivering = Guarded<Task<Outcomes, Never>?>(nil)
        let start = Gate()
        let script = GatewayScript { number, _ in
            if number == 2 { delivering.withLock { $0 }?.cancel() }
            return .accept
        }
        try await BackendUnderTest.with(kind, script, room: 5) { subject in
            let task = Task {
                await start.pass()
                return await subject.deliver(20).outcomes
            }
            delivering.withLock { $0 = task }
            start.open()
            let outcomes = await task.value
            check(outcomes, script, .cancelled)
            #expect(outcomes[2] == .accepted && outcomes[19].verdict == .safe)
            let count = script.arrivals.count
            #expect(await subject.deliver(1).outcomes.allSatisfy { $0 == .accepted })
            #expect(script.arrivals.count == count + 1)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a shutdown ends what is in flight as unknown and the rest as safe, at once`(kind: Kind) async throws {
        let script = GatewayScript { number, _ in number == 2 ? .hold : .accept }
        try await BackendUnderTest.with(kind, script, room: 5) { subject in
            async let delivering = subject.deliver(20).outcomes
            try await eventually { script.arrivals.contains(2) }
            if kind == .recorded {
                // Its answers come at once: a delivery has ended before anything else can happen.
                #expect(await delivering.allSatisfy { $0 == .accepted })
                return
            }
            await subject.backend.shutdown()
            let outcomes = await delivering
            #expect(outcomes[2].verdict == .unknown && outcomes[19].verdict == .safe)
            #expect(outcomes.unsentReason?.code == .shutDown)
            for number in script.arrivals { #expect(outcomes[number].verdict != .safe) }
        }
    }

    @Test(arguments: Kind.allCases)
    func `after a shutdown nothing is sent, and each further call says so`(kind: Kind) async throws {
        let script = GatewayScript()
        try await BackendUnderTest.with(kind, script) { subject in
            await subject.backend.shutdown()
            await subject.backend.shutdown()
            await subject.backend.prepare(for: subject.gateway, with: subject.credential)
            await subject.backend.outdate(idle: .zero)
            await subject.backend.outdate(credential: subject.credential)
            check(await subject.deliver(20).outcomes, script, .shutDown)
            #expect(script.arrivals.isEmpty && subject.connections() == 0)
            let error = await #expect(throws: PushError.self) {
                _ = try await subject.backend.feedback(from: subject.gateway, with: subject.credential)
            }
            // The relay has no such service, open or shut.
            #expect(error?.code == (kind == .ownRelay ? .unsupported : .shutDown))
        }
    }
}
