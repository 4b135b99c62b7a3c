import ApplePush
import ApplePushSimulator
import CarillonTLS
import TestSupport
import Testing

/// Sending to the simulator.
@Suite struct SimulatorSendingTests {
    /// A simulator around a test.
    private func withSimulator<R>(
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        backend: (inout HTTP2Configuration) -> Void = { _ in },
        _ test: (APNsSimulator, Gateway, HTTP2Backend) async throws -> R
    ) async throws -> R {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            try change(&$0)
        } _: { simulator in
            try await withBackend(backend) { try await test(simulator, simulator.gateway(), $0) }
        }
    }

    private func certificate(_ simulator: APNsSimulator) throws -> Credential {
        let topics = ["org.example.app"] + Set(PushType.all.map { "org.example.app" + $0.topicSuffix }).sorted()
        return try simulator.credential(topics: topics)
    }

    @Test func `each answer is timed, and open connections are counted`() async throws {
        try await withSimulator { simulator, gateway, backend in
            let credential = try certificate(simulator)
            let apns = try APNs(backend, to: gateway, with: credential)
            let tokens = (1...300).map { token($0) }
            _ = try await apns.send(Message(tokens: tokens, alert: "Hello", topic: "org.example.app"))
            #expect(backend.traffic.answerTimes.count == 300)
            #expect(backend.traffic.answerTimes.sum > 0)
            #expect(backend.traffic.connections == 1)
            await backend.shutdown()
            #expect(backend.traffic.connections == 0)
            #expect(backend.traffic.answerTimes.count == 300)
        }
    }

    @Test func `an app that is added to a signing key later is served over a fresh connection`() async throws {
        try await withSimulator {
            $0.topics = ["org.example.old"]
        } backend: {
            $0.topicBindingAge = .zero
        } _: { simulator, gateway, backend in
            let credential = try TestCredential.providerToken()
            let apns = APNs(Session(backend: backend).connection(to: gateway, credential: credential))
            func statuses(_ topic: String, _ tokens: Range<Int>) async throws -> Set<Int> {
                let message = try Message(tokens: tokens.map { token($0) }, alert: "Hello", topic: topic)
                return Set(try await apns.send(message).pushes.map(\.status))
            }
            #expect(try await statuses("org.example.old", 0..<20) == [200])
            try await simulator.allow(topic: "org.example.new")
            #expect(try await statuses("org.example.old", 20..<40) == [200])
            let before = await simulator.statistics().connections
            #expect(try await statuses("org.example.new", 40..<60) == [200])
            #expect(await simulator.statistics().connections == before + 1)
        }
    }

    @Test(arguments: PushType.all)
    func `a push of each type follows Apple's rules`(type: PushType) async throws {
        try await withSimulator { simulator, gateway, backend in
            let credential = type == .location ? try TestCredential.providerToken() : try certificate(simulator)
            let apns = try APNs(backend, to: gateway, with: credential)
            let message = try Message(
                tokens: [token(1), token(2)],
                alert: type == .background ? nil : "Hello",
                contentAvailable: type == .background,
                pushType: type,
                priority: type == .background ? nil : 10,
                expiry: .after(.seconds(3600)),
                collapseID: "group",
                topic: type == .location ? "org.example.app" + type.topicSuffix : nil
            )
            let result = try await apns.send(message)
            #expect(result.accepted == 2, "\(result.errors) \(result.failed)")
        }
    }

    @Test(arguments: [true, false])
    func `ten thousand pushes are each sent once`(byCertificate: Bool) async throws {
        try await withSimulator { simulator, gateway, backend in
            let credential = byCertificate ? try certificate(simulator) : try TestCredential.providerToken()
            let apns = try APNs(backend, to: gateway, with: credential)
            let tokens = (0..<10_000).map { token($0) }
            let result = try await apns.send(Message(tokens: tokens, alert: "Hi", topic: "org.example.app"))
            #expect(result.accepted == 10_000)
            let deliveries = await simulator.receivedRequests()
            #expect(deliveries.map(\.token).sorted() == tokens)
            #expect(Set(deliveries.map(\.apnsID)).count == 10_000)
        }
    }

    @Test(arguments: SimulatorConfiguration.Environment.allCases)
    func `the sandbox gives each push an identity for Apple's push console`(
        environment: SimulatorConfiguration.Environment
    ) async throws {
        try await withSimulator {
            $0.environment = environment
            $0.answers = [try AnswerRule(parsing: "dead=410:Unregistered")]
        } _: { simulator, gateway, backend in
            let apns = try APNs(backend, to: gateway, with: certificate(simulator))
            let tokens = [token(1), "dead" + token(1).dropFirst(4), token(3)]
            let result = try await apns.send(try Message(tokens: tokens, alert: "Hello"))
            let ids = result.pushes.map(\.uniqueID)
            #expect(ids.compactMap { $0 }.count == (environment == .sandbox ? 3 : 0))
            #expect(Set(ids).count == (environment == .sandbox ? 3 : 1))
            #expect(zip(ids, result.pushes).allSatisfy { $0 != $1.id })
        }
    }
}
