import CarillonCOpenSSL

/// SHA-256 of bytes given in pieces or all at once.
package final class Digest {
    private let context: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        self.context = context
        precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "SHA-256 is part of every OpenSSL")
    }

    deinit { EVP_MD_CTX_free(context) }

    package func add(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { _ = EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
    }

    /// The digest of everything added. Nothing may be added afterwards.
    package func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(context, &digest, nil)
        return digest
    }

    package static func sha256(_ bytes: RawSpan) -> [UInt8] {
        let digest = Digest()
        digest.add(bytes)
        return digest.finish()
    }

    /// Whether two secrets are equal, compared in constant time.
    package static func areSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }
}
