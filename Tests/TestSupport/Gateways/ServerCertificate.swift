package import CarillonTLS

/// The certificate of a test's server, with its key and its root.
package struct ServerCertificate: Sendable {
    private let certificate: String
    private let privateKey: String
    /// The certificate, in PEM, of the authority that clients must trust.
    package let rootPEM: String

    package init(certificate: String, privateKey: String, rootPEM: String) {
        self.certificate = certificate
        self.privateKey = privateKey
        self.rootPEM = rootPEM
    }

    /// - Parameters:
    ///   - names: host names, and addresses in figures.
    ///   - authority: nil: one of its own.
    ///   - notAfter: in seconds since 1970; nil: in a year.
    package init(
        for names: [String] = ["127.0.0.1", "localhost"],
        by authority: CertificateAuthority? = nil,
        notAfter: Int64? = nil
    ) throws {
        let authority = try authority ?? CertificateAuthority(name: "Test authority")
        let (certificate, key) = try authority.issue(
            commonName: names.first ?? "nobody",
            subjectAlternativeNames: names,
            notAfter: notAfter
        )
        self.init(certificate: certificate, privateKey: key, rootPEM: authority.pem)
    }

    /// The TLS context of its connections.
    package func context(clients: TLSContext.ClientCertificates = .requested(), alpn: [String] = ["h2"]) throws
        -> TLSContext
    {
        try TLSContext.server(
            identity: Identity(certificate: certificate, privateKey: privateKey),
            clients: clients,
            alpn: alpn
        )
    }
}
