@testable import CarillonTLS

/// Servers at the right address with a wrong certificate.
package enum FlawedServer: CaseIterable, Sendable {
    case unknownAuthority
    case ownAuthority
    case otherName
    case expired

    /// Its certificate, and the root that its clients trust.
    package func certificate() throws -> ServerCertificate {
        switch self {
        case .unknownAuthority:
            let stranger = try CertificateAuthority(name: "Stranger").issue(
                commonName: "127.0.0.1",
                subjectAlternativeNames: ["127.0.0.1"]
            )
            return try shown(stranger.certificatePEM, stranger.privateKeyPEM)
        case .ownAuthority:
            let key = try Key.generate()
            let builder = try CertificateBuilder(publicKey: key)
            builder.setSubject([(13, "127.0.0.1")])  // the common name
            builder.setValidity(from: 1_500_000_000, to: 4_000_000_000)
            builder.addAlternativeNames(["127.0.0.1"])
            return try shown(builder.signed(by: nil, key).pem, key.privatePEM)
        case .otherName: return try ServerCertificate(for: ["localhost"])
        case .expired: return try ServerCertificate(notAfter: 1_500_000_000)
        }
    }

    private func shown(_ certificate: String, _ key: String) throws -> ServerCertificate {
        ServerCertificate(
            certificate: certificate,
            privateKey: key,
            rootPEM: try CertificateAuthority(name: "Trusted").pem
        )
    }

    /// The end of the client's error.
    package var sentence: String {
        switch self {
        case .unknownAuthority: "is not trusted (unable to get local issuer certificate)"
        case .ownAuthority: "is not trusted (self-signed certificate)"
        case .otherName: "is not for 127.0.0.1"
        case .expired: "has expired"
        }
    }
}
