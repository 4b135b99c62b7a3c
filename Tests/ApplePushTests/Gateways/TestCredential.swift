import ApplePush
import CarillonTLS

extension APNs {
    /// Over connections of that backend, by default with a certificate.
    init(_ backend: any Backend, to gateway: Gateway = .sandbox, with credential: Credential? = nil) throws {
        let credential = try credential ?? TestCredential.certificate()
        self.init(Session(backend: backend).connection(to: gateway, credential: credential))
    }
}

/// Credentials from one authority for all tests.
enum TestCredential {
    static let authority: CertificateAuthority = {
        do { return try CertificateAuthority(name: "Test authority") } catch { fatalError("\(error)") }
    }()

    static func certificate(topics: [String] = ["org.example.app", "org.example.app.voip"]) throws -> Credential {
        let (certificate, key) = try Self.authority.issue(commonName: "Test push certificate", topics: topics)
        return try Credential(certificate: certificate, privateKey: key)
    }

    static func signingKey() throws -> SigningKey { try SigningKey.generate() }

    static func providerToken(
        _ key: SigningKey? = nil,
        keyID: String = "ABCDE12345",
        teamID: String = "TEAM567890",
        supply: ProviderToken.Supply? = nil
    ) throws -> Credential {
        try Credential(signingKey: (key ?? signingKey()).pem, keyID: keyID, teamID: teamID, supply: supply)
    }
}
