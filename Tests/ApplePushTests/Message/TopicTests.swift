import ApplePush
import ApplePushSimulator
import Testing

@Suite struct TopicTests {
    private func topic(of message: Message, with credential: Credential) async throws -> String? {
        let backend = RecordedBackend()
        let apns = try APNs(backend, to: .production, with: credential)
        _ = try await apns.send(message)
        return try #require(backend.sent.first).topic
    }

    @Test(arguments: PushType.all, [true, false])
    func `a topic is completed with the suffix of the push type`(type: PushType, byCertificate: Bool) async throws {
        let credential = try byCertificate ? TestCredential.certificate() : TestCredential.providerToken()
        let expected = "com.example.app" + type.topicSuffix
        for given in ["com.example.app", expected] {
            let message = try Message(tokens: ["a1"], pushType: type, topic: given)
            #expect(try await topic(of: message, with: credential) == expected)
        }
    }

    @Test func `a topic with the suffix of another push type is sent as it is`() async throws {
        let key = try TestCredential.providerToken()
        for (type, given) in [(PushType.liveActivity, "com.example.app.voip"), (.alert, "com.example.app.voip")] {
            let message = try Message(tokens: ["a1"], pushType: type, topic: given)
            #expect(try await topic(of: message, with: key) == given)
        }
        let mdm = try Message(tokens: ["a1"], pushType: .mdm, topic: "com.apple.mgmt.External.1234")
        #expect(try await topic(of: mdm, with: key) == "com.apple.mgmt.External.1234")
    }

    @Test func `a message without a topic has that of its type in the certificate, and none with a key`() async throws {
        let certificate = try TestCredential.certificate(topics: ["com.example.app", "com.example.app.voip"])
        let only = try TestCredential.certificate(topics: ["com.example.app.voip"])
        let call = try Message(tokens: ["a1"], pushType: .voip)
        #expect(try await topic(of: call, with: certificate) == "com.example.app.voip")
        #expect(try await topic(of: call, with: only) == "com.example.app.voip")
        #expect(try await topic(of: call, with: TestCredential.providerToken()) == nil)
        let widget = try Message(tokens: ["a1"], pushType: .widgets)
        #expect(try await topic(of: widget, with: certificate) == nil)
    }

    @Test func `the topic of an app whose bundle identifier ends as a suffix is made for batches`() {
        #expect(PushType.widgets.topic(of: "com.example.voip") == "com.example.voip.push-type.widgets")
        #expect(PushType.voip.topic(of: "com.example.app.voip") == "com.example.app.voip")
        #expect(PushType.alert.topic(of: "com.example.app") == "com.example.app")
    }

    @Test func `the gateway accepts a push of every type with the app's bundle identifier as topic`() async throws {
        let simulator = try APNsSimulator(SimulatorConfiguration())
        try await simulator.start()
        let gateway = Gateway(host: "localhost", port: simulator.port, trust: .pem(simulator.rootPEM))
        let session = Session()
        let apns = APNs(session.connection(to: gateway, credential: try TestCredential.providerToken()))
        for type in PushType.all {
            let message = try Message(
                tokens: [String(repeating: "ab", count: 32)],
                alert: type == .background ? nil : "Hello",
                contentAvailable: type == .background,
                pushType: type,
                topic: "com.example.app"
            )
            let result = try await apns.send(message)
            #expect(result.accepted == 1, "\(type): \(result.errors) \(result.failed)")
        }
        await session.shutdown()
        await simulator.stop()
    }
}
