import CarillonCOpenSSL

final class Certificate: Sendable {
    /// Safe, because any thread may read an `X509`, and OpenSSL locks the caches inside it. Only `CertificateBuilder` changes one,
    /// before anything else refers to it.
    nonisolated(unsafe) let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_free(pointer) }

    /// All certificates in a text, in their order; `what` names the text in errors.
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
                let errors = OpenSSLErrors.take()
                if errors.isShortage { throw .shortage(reading: what) }
                let place = blocks.count == 1 ? "the certificate" : "certificate \(index + 1) of \(blocks.count)"
                throw TLSError(
                    .malformedCertificate,
                    "\(place) in \(what) cannot be read (\(errors.text)): it may have been cut or altered"
                )
            }
            certificates.append(Certificate(owning: pointer))
        }
        return certificates
    }

    var der: [UInt8] { OpenSSLBytes.allocated { i2d_X509(pointer, $0) } ?? [] }

    var pem: String { MemoryBIO.text { PEM_write_bio_X509($0, pointer) } }

    func belongs(to key: Key) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(pointer, key.pointer) == 1
    }
}
