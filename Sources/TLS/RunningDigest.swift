import COpenSSL

/// The SHA-256 of bytes that come in pieces.
package final class RunningDigest {
    private let context: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        self.context = context
        let isDone = EVP_DigestInit_ex(context, EVP_sha256(), nil)
        precondition(isDone == 1, "SHA-256 is part of every OpenSSL")
    }

    deinit { EVP_MD_CTX_free(self.context) }

    package func add(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { _ = EVP_DigestUpdate(self.context, $0.baseAddress, $0.count) }
    }

    /// The hash of all that was added. Nothing may be added afterwards.
    package func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(self.context, &digest, nil)
        return digest
    }
}
