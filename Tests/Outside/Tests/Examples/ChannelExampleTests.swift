import ApplePush
import ApplePushSimulator
import Testing

/// Channels of Live Activities.
@Suite struct ChannelExampleTests {
    private let app = App()

    private func report(_ text: String) { app.report(text) }

    @Test func `the example of channels does what it says`() async throws {
        var settings = SimulatorConfiguration()
        settings.channelPort = 0
        let simulator = try APNsSimulator(settings)
        try await simulator.start()
        let issued = try simulator.issueCertificate(topics: ["org.example.app"])
        let credential = try Credential(certificate: issued.certificate, privateKey: issued.privateKey)
        let trust = Gateway.Trust.pem(simulator.rootPEM)
        let service = Gateway(host: "localhost", port: try #require(simulator.channelPort), trust: trust)
        let session = APNs.Session()
        let gateway = Gateway(host: "localhost", port: simulator.port, trust: trust)
        let apns = APNs(session.connection(to: gateway, credential: credential))

        let channels = APNs.Channels(of: "org.example.app", at: session.connection(to: service, credential: credential))
        let channel = try await channels.create(.lastMessage)

        let update = try APNs.Message(
            tokens: [],
            aps: ["event": "update", "timestamp": 1_790_000_000, "content-state": ["home": 1, "guests": 0]],
            pushType: .liveActivity,
            priority: .conservesPower,
            expiry: .after(.seconds(600)),
            topic: "org.example.app"
        )
        let push = try await apns.publish(update, to: channel)
        if !push.isAccepted { report("\(push)") }

        try await channels.remove(channel)

        #expect(push.isAccepted)
        #expect(simulator.channels(of: "org.example.app").isEmpty)
        await session.shutdown()
        await simulator.stop()
    }
}
