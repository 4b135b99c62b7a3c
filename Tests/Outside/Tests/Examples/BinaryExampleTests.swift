import ApplePush
import ApplePushSimulator
import Testing

/// Gateways of the legacy binary protocol.
@Suite struct BinaryExampleTests {
    @Test func `the example of the binary protocol does what it says`() async throws {
        var settings = SimulatorConfiguration()
        settings.binaryPort = 0
        let simulator = try APNsSimulator(settings)
        try await simulator.start()
        let issued = try simulator.issueCertificate(topics: ["org.example.app"])
        let credential = try Credential(certificate: issued.certificate, privateKey: issued.privateKey)
        let port = try #require(simulator.binaryPort)
        let rootPEM = simulator.rootPEM
        let tokens = [String(repeating: "ab", count: 32), "abab"]

        var configuration = BinaryConfiguration()
        configuration.format = .frames
        configuration.quietPeriod = .seconds(2)
        let session = APNs.Session(backend: BinaryBackend(configuration))
        let gateway = Gateway(host: "localhost", port: port, trust: .pem(rootPEM))
        let apns = APNs(session.connection(to: gateway, credential: credential))

        let result = try await apns.send(try APNs.Message(tokens: tokens, alert: "Hello"))

        #expect(result.accepted == 1)
        #expect(result.failed["abab"]?.reason == "BadDeviceToken")
        await session.shutdown()
        await simulator.stop()
    }
}
