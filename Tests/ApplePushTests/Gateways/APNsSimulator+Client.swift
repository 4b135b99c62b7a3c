import ApplePush
import ApplePushSimulator

extension APNsSimulator {
    /// - Parameter port: nil: that of HTTP/2.
    func gateway(port: UInt16? = nil) -> Gateway {
        Gateway(host: "localhost", port: port ?? self.port, trust: .pem(rootPEM))
    }

    /// A new certificate for those topics.
    func credential(topics: [String] = ["org.example.app"]) throws -> Credential {
        let issued = try issueCertificate(topics: topics)
        return try Credential(certificate: issued.certificate, privateKey: issued.privateKey)
    }
}
