import ApplePush
import Testing

/// What every backend promises about its connections. Those that have none must deliver all the same.
@Suite(.timeLimit(.minutes(5))) struct BackendConnectionTests {
    typealias Kind = BackendUnderTest.Kind

    private func expect(_ count: Int, of subject: BackendUnderTest, _ kind: Kind, _ comment: Comment? = nil) {
        #expect(subject.connections() == (kind.hasConnections ? count : 0), comment)
    }

    private func deliver(_ backend: any Backend, _ subject: BackendUnderTest, _ credential: Credential? = nil) async {
        let credential = credential ?? subject.credential
        let outcomes = await backend.deliver(batch(3, digits: 64), to: subject.gateway, with: credential)
        #expect(outcomes.count == 3 && outcomes.allSatisfy { $0 == .accepted })
    }

    @Test(arguments: Kind.allCases)
    func `deliveries one after the other, and at once, share a connection`(kind: Kind) async throws {
        let script = GatewayScript()
        try await BackendUnderTest.with(kind, script, proof: .silence) { subject in
            await deliver(subject.backend, subject)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { await deliver(subject.backend, subject) } }
            }
            try await eventually { script.arrivals.count == 27 }
            expect(1, of: subject, kind)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a separate backend shares no connection, and neither ends with the other`(kind: Kind) async throws {
        try await BackendUnderTest.with(kind, proof: .silence) { subject in
            await deliver(subject.backend, subject)
            let (first, second) = (subject.backend.separate(), subject.backend.separate())
            await deliver(first, subject)
            expect(2, of: subject, kind)
            await first.shutdown()
            await deliver(subject.backend, subject)
            expect(2, of: subject, kind)
            await subject.backend.shutdown()
            await deliver(second, subject)
            expect(3, of: subject, kind)
            await second.shutdown()
        }
    }

    @Test(arguments: Kind.allCases)
    func `only connections that have been idle for longer are outdated`(kind: Kind) async throws {
        try await BackendUnderTest.with(kind, proof: .silence) { subject in
            await deliver(subject.backend, subject)
            await subject.backend.outdate(idle: .seconds(600))
            await deliver(subject.backend, subject)
            expect(1, of: subject, kind)
            await subject.backend.outdate(idle: .zero)
            await deliver(subject.backend, subject)
            expect(2, of: subject, kind)
        }
    }

    @Test(arguments: Kind.allCases)
    func `only connections of the replaced credential are closed`(kind: Kind) async throws {
        try await BackendUnderTest.with(kind, proof: .silence) { subject in
            let other = try TestCredential.certificate()
            await deliver(subject.backend, subject)
            await deliver(subject.backend, subject, other)
            expect(2, of: subject, kind)
            await subject.backend.outdate(credential: subject.credential)
            await deliver(subject.backend, subject, other)
            expect(2, of: subject, kind)
            await deliver(subject.backend, subject)
            expect(3, of: subject, kind)
        }
    }

    @Test(arguments: Kind.allCases)
    func `a prepared backend is connected before the first push`(kind: Kind) async throws {
        try await BackendUnderTest.with(kind, proof: .silence) { subject in
            await subject.backend.prepare(for: subject.gateway, with: subject.credential)
            expect(1, of: subject, kind)
            await deliver(subject.backend, subject)
            expect(1, of: subject, kind)
        }
    }

    @Test(arguments: Kind.allCases)
    func `preparing returns though there is no gateway, and the delivery says why`(kind: Kind) async throws {
        try await BackendUnderTest.with(kind, flaw: .unreachable) { subject in
            await subject.backend.prepare(for: subject.gateway, with: subject.credential)
            #expect(await subject.deliver(1).outcomes.connectFailure?.code == .unreachable)
        }
    }

    /// The lists of gateways are in `LegacyFeedbackListTests`.
    @Test func `the list of a recorded backend is cleared by reading it, as that of a gateway is`() async throws {
        let backend = RecordedBackend(feedback: [BackendUnderTest.deadToken])
        let credential = try TestCredential.certificate()
        var lists: [[Feedback]] = []
        for _ in 0..<2 {
            var list: [Feedback] = []
            for await dead in try await backend.feedback(from: .feedback, with: credential) { list.append(dead) }
            lists.append(list)
        }
        #expect(lists == [[BackendUnderTest.deadToken], []])
    }
}
