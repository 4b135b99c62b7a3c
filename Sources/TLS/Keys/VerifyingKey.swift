import CarillonCOpenSSL

package struct VerifyingKey: Sendable {
    private let key: Key

    init(_ key: Key) { self.key = key }

    /// Reads PEM: a public key, or a private key, of which only the public half is kept.
    package init(pem: String) throws(TLSError) {
        var text = Array(pem.utf8)
        defer { text.wipe() }
        let key: Key
        if PEM(text).blocks.contains(where: \.isPrivateKey) {
            key = try Key.inText(text, passphrase: nil, what: "the text")
        } else {
            ERR_clear_error()
            guard let pointer = MemoryBIO.reading(text[...], { PEM_read_bio_PUBKEY($0, nil, nil, nil) }) else {
                throw TLSError(.malformedKey, "this is not a public key in PEM form (\(OpenSSLErrors.take().text))")
            }
            key = Key(owning: pointer)
        }
        guard key.isP256 else { throw TLSError(.unsupportedKey, "the key is not an elliptic curve key on P-256") }
        self.key = key
    }

    /// From an uncompressed point on the curve: 4, x and y, in 65 bytes.
    package init(point: [UInt8]) throws(TLSError) {
        // The fixed DER header of a P-256 public key; the point follows it.
        let prefix: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let der = prefix + point
        ERR_clear_error()
        let pointer: OpaquePointer? = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, bytes.count)
        }
        guard point.count == 65, let pointer else {
            if let pointer { EVP_PKEY_free(pointer) }
            ERR_clear_error()
            throw TLSError(.malformedKey, "this is not a point on the curve P-256 in 65 bytes")
        }
        key = Key(owning: pointer)
    }

    package var pem: String { MemoryBIO.text { PEM_write_bio_PUBKEY($0, key.pointer) } }

    /// Whether this key made the signature (r and s, in 64 bytes) over these bytes.
    package func isValid(signature: [UInt8], for bytes: [UInt8]) -> Bool {
        guard let der = ES256.der(raw: signature), let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
            && EVP_DigestVerify(context, der, der.count, bytes, bytes.count) == 1
    }
}
