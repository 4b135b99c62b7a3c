import CarillonCOpenSSL

/// A stored form of a password that can only be compared: a key derived from it by scrypt (RFC 7914) with its own salt.
package struct DerivedPassword: Sendable {
    /// Each guess costs 8 MB and about 50 milliseconds.
    private static let (cost, blockSize, parallelism) = (1 << 13 as UInt64, 8 as UInt64, 2 as UInt64)
    private static let memoryLimit = 64 << 20 as UInt64

    private let salt: [UInt8]
    private let key: [UInt8]

    package init(_ password: String) {
        salt = SystemRandom.bytes(16)
        key = Self.key(from: password, salt: salt)
    }

    /// Takes the same time for every wrong password.
    package func matches(_ candidate: String) -> Bool {
        Digest.areSame(key, Self.key(from: candidate, salt: salt))
    }

    private static func key(from password: String, salt: [UInt8]) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: 32)
        let bytes = Array(password.utf8)
        let isDerived = bytes.withUnsafeBytes { raw in
            EVP_PBE_scrypt(
                raw.baseAddress?.assumingMemoryBound(to: CChar.self),
                raw.count,
                salt,
                salt.count,
                cost,
                blockSize,
                parallelism,
                memoryLimit,
                &key,
                key.count
            )
        }
        precondition(isDerived == 1, "scrypt needs 8 MB of memory")
        // Otherwise glibc keeps these 8 MB for each thread that has ever derived a key.
        malloc_trim(0)
        return key
    }
}
