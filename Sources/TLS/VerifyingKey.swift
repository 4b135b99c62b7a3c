import COpenSSL

/// The public half of a `SigningKey`.
package struct VerifyingKey: Sendable {
    private let key: Key

    init(_ key: Key) {
        self.key = key
    }

    /// From `-----BEGIN PUBLIC KEY-----`.
    package init(pem: String) throws(TLSError) {
        ERR_clear_error()
        guard let pointer = MemoryBIO.reading(Array(pem.utf8)[...], { PEM_read_bio_PUBKEY($0, nil, nil, nil) }) else {
            throw TLSError(.malformedKey, "this is not a public key in PEM form (\(OpenSSLErrors.take().text))")
        }
        self.key = Key(owning: pointer)
        guard self.key.isP256 else {
            throw TLSError(.unsupportedKey, "the public key is not an elliptic curve key on P-256")
        }
    }

    package var pem: String {
        let bio = MemoryBIO()
        PEM_write_bio_PUBKEY(bio.pointer, self.key.pointer)
        return bio.string
    }

    /// Whether the signature, r and s in 64 bytes, is of these bytes and by this key.
    package func isValid(signature: [UInt8], for bytes: [UInt8]) -> Bool {
        guard let der = ES256.der(raw: signature), let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, self.key.pointer) == 1
            && EVP_DigestVerify(context, der, der.count, bytes, bytes.count) == 1
    }
}
