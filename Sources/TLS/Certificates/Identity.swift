import CarillonCOpenSSL

/// The certificate with which this side authenticates itself, its chain and its private key, held by OpenSSL.
package struct Identity: Sendable {
    let certificate: Certificate
    let chain: [Certificate]
    let key: Key

    package let leaf: CertificateFacts
    /// SHA-256 of the leaf, its key and the chain: identities with equal digests are interchangeable.
    package let digest: [UInt8]

    /// Reads PEM. The key is in `privateKey`, or else in the same text as the certificate. The leaf is the certificate that the key
    /// belongs to, wherever it stands among the others.
    package init(certificate text: [UInt8], privateKey: [UInt8]? = nil, passphrase: [UInt8]? = nil) throws(TLSError) {
        var certificates = try Certificate.all(in: text, what: "the certificate text")
        let key: Key
        if let privateKey, !privateKey.isEmpty {
            key = try Key.inText(privateKey, passphrase: passphrase, what: "the private key text")
        } else if PEM(text).blocks.contains(where: \.isPrivateKey) {
            key = try Key.inText(text, passphrase: passphrase, what: "the certificate text")
        } else {
            throw TLSError(
                .missingKey,
                "there is no private key: give one beside the certificate, or in the same PEM text"
            )
        }
        guard let index = certificates.firstIndex(where: { $0.belongs(to: key) }) else {
            throw TLSError(
                .keyMismatch,
                "the private key does not belong to the certificate of \(CertificateFacts(certificates[0]).subject): "
                    + "give the key that the certificate was requested with"
            )
        }
        certificate = certificates.remove(at: index)
        chain = certificates
        self.key = key
        leaf = CertificateFacts(certificate)
        let identity = ([certificate] + chain).flatMap(\.der) + key.publicDER
        digest = Digest.sha256(identity.span.bytes)
        // Report once, here, what OpenSSL would otherwise refuse at every connection.
        try TLSContext.check(self)
    }

    package init(certificate: String, privateKey: String? = nil, passphrase: String? = nil) throws(TLSError) {
        var text = Array(certificate.utf8)
        var key = privateKey.map { Array($0.utf8) }
        var secret = passphrase.map { Array($0.utf8) }
        defer {
            text.wipe()
            key?.wipe()
            secret?.wipe()
        }
        try self.init(certificate: text, privateKey: key, passphrase: secret)
    }
}
