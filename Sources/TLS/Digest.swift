import COpenSSL

/// Hashes.
package enum Digest {
    package static func sha256(_ bytes: RawSpan) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let isDone = bytes.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &digest, nil, EVP_sha256(), nil) }
        precondition(isDone == 1, "SHA-256 is part of every OpenSSL")
        return digest
    }
}
