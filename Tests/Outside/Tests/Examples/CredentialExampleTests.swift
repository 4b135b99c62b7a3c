import ApplePush
import ApplePushSimulator
import Testing

/// Certificates and signing keys.
@Suite struct CredentialExampleTests {
    private let app = App()

    private func warn(before expiry: Int64) { app.warn(before: expiry) }

    @Test func `certificates and signing keys make credentials`() async throws {
        let issued = try APNsSimulator(SimulatorConfiguration()).issueCertificate(topics: ["org.example.app"])
        let (pem, key, passphrase, root) = (issued.certificate, issued.privateKey, "secret", issued.certificate)
        let p8 = Test.p8

        let byKey = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let byCertificate = try Credential(certificate: pem, privateKey: key, passphrase: passphrase)

        if let expiry = byCertificate.facts.notAfter { warn(before: expiry) }
        let topics = byCertificate.facts.topics

        let (session, old) = (APNs.Session(backend: RecordedBackend()), byKey)

        await session.outdate(credential: old)

        let gateway = Gateway(host: "localhost", port: 2197, trust: .pem(root))

        #expect(topics == ["org.example.app"] && app.reports.count == 1)
        #expect(gateway.description.contains("localhost:2197"))
    }
}
