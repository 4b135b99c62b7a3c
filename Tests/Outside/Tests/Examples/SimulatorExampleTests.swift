import ApplePush
import ApplePushSimulator
import Testing

/// The simulator in tests of one's own.
@Suite struct SimulatorExampleTests {
    @Test func `the examples of the simulator do what they say`() async throws {
        var configuration = SimulatorConfiguration()
        configuration.answers = [try AnswerRule(parsing: "dead=410:Unregistered")]
        configuration.recordsRequests = true
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()

        let gateway = Gateway(host: "localhost", port: simulator.port, trust: .pem(simulator.rootPEM))
        let p8 = try APNsSimulator.makeSigningKey()
        let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let session = APNs.Session()
        let apns = APNs(session.connection(to: gateway, credential: credential))
        let tokens = ["beef", "dead"].map { $0 + String(repeating: "0", count: 60) }
        let result = try await apns.send(try APNs.Message(tokens: tokens, alert: "Hello", topic: "org.example.app"))

        #expect(result.feedback.map(\.token) == [tokens[1]])
        #expect(await simulator.receivedRequests().map(\.status) == [200, 410])

        await session.shutdown()
        await simulator.stop()
    }

    @Test func `the examples of the simulator's configuration compile`() async throws {
        struct Sender { func kill() {} }
        let sender = Sender()
        var configuration = SimulatorConfiguration()

        configuration.answers = [
            try AnswerRule(prefix: "dead", status: 410),
            try AnswerRule(prefix: "429", status: 429, retryAfter: 2, times: 1),
            try AnswerRule(prefix: "5f", action: .silence),
        ]

        configuration.delay = .milliseconds(20)
        configuration.distance = .milliseconds(150)
        configuration.goAwayAfter = 100
        configuration.resetAfter = 500

        configuration.observer = { event in
            if case .answered(let received) = event, received.token.hasPrefix("dead") { sender.kill() }
        }

        let simulator = try APNsSimulator(configuration)

        let issued = try simulator.issueCertificate(topics: ["org.example.app"])
        let credential = try Credential(certificate: issued.certificate, privateKey: issued.privateKey)

        #expect(credential.facts.topics == ["org.example.app"])
    }
}
