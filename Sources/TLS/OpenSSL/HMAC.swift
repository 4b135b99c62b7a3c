import CarillonCOpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMAC {
    package static func sha256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var length: CUnsignedInt = 0
        let result = CarillonCOpenSSL.HMAC(EVP_sha256(), key, CInt(key.count), bytes, bytes.count, &code, &length)
        precondition(result != nil && length == 32, "SHA-256 is part of every OpenSSL")
        return code
    }
}
