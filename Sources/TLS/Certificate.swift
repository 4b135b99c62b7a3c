import COpenSSL

/// An X.509 certificate.
final class Certificate: Sendable {
    /// Safe, because OpenSSL lets any thread read an `X509` and locks what it caches in it. Only `CertificateBuilder`
    /// changes one, before anybody else has it.
    nonisolated(unsafe) let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        X509_free(self.pointer)
    }

    /// All the certificates in a text, in its order.
    static func all(in text: [UInt8], what: String) throws(TLSError) -> [Certificate] {
        let blocks = try PEM(text, what: what).blocks.filter(\.isCertificate)
        guard !blocks.isEmpty else {
            throw TLSError(
                .malformedCertificate,
                "\(what) is not a certificate in PEM form: it must contain a line -----BEGIN CERTIFICATE-----"
            )
        }
        var certificates: [Certificate] = []
        for (index, block) in blocks.enumerated() {
            ERR_clear_error()
            let pointer = MemoryBIO.reading(text[block.range]) { PEM_read_bio_X509($0, nil, nil, nil) }
            guard let pointer else {
                let place = blocks.count == 1 ? "the certificate" : "certificate \(index + 1) of \(blocks.count)"
                throw TLSError(
                    .malformedCertificate,
                    "\(place) in \(what) cannot be read (\(OpenSSLErrors.take().text)): it may have been cut or altered"
                )
            }
            certificates.append(Certificate(owning: pointer))
        }
        return certificates
    }

    var der: [UInt8] {
        var start: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(self.pointer, &start)
        guard let start, count > 0 else { return [] }
        defer { COpenSSL_OPENSSL_free(start) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    var pem: String {
        let bio = MemoryBIO()
        PEM_write_bio_X509(bio.pointer, self.pointer)
        return bio.string
    }

    func belongs(to key: Key) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(self.pointer, key.pointer) == 1
    }
}
