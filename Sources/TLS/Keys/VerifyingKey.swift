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
