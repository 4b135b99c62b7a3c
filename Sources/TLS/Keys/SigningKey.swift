import CarillonCOpenSSL

/// The private key of provider tokens, as in the `.p8` files that Apple issues: P-256, signing ES256.
package struct SigningKey: Sendable {
    private let key: Key

    package init(p8 text: [UInt8]) throws(TLSError) {
        let key: Key
        do throws(TLSError) {
            key = try Key.inText(text, passphrase: nil, what: "the signing key")
        } catch {
            guard error.code == .passphraseNeeded else { throw error }
            throw TLSError(
                .passphraseNeeded,
                "the signing key is encrypted, as Apple's are not: decrypt it with openssl pkcs8 -topk8 -nocrypt"
            )
        }
        guard key.isP256 else {
            throw TLSError(
                .unsupportedKey,
                "the signing key is not an elliptic curve key on P-256: use the .p8 file of an APNs authentication key"
            )
        }
        self.key = key
    }

    package init(p8 text: String) throws(TLSError) {
        var bytes = Array(text.utf8)
        defer { bytes.wipe() }
        try self.init(p8: bytes)
    }

    private init(_ key: Key) { self.key = key }

    package static func generate() throws(TLSError) -> SigningKey { SigningKey(try Key.generate()) }

    /// The text of the `.p8` file.
    package var pem: String { key.privatePEM }

    package var publicKey: VerifyingKey { VerifyingKey(key) }

    /// r and s of 32 bytes each, the form that JSON Web Tokens use.
    package func sign(_ bytes: [UInt8]) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        defer { EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: 128)
        var count = der.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1,
            EVP_DigestSign(context, &der, &count, bytes, bytes.count) == 1,
            let signature = ES256.raw(der: Array(der.prefix(count)))
        else { preconditionFailure("a P-256 key signs: \(OpenSSLErrors.take().text)") }
        return signature
    }
}
