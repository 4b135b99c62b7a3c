import CarillonCOpenSSL

/// The system's randomness, through OpenSSL's generator.
package enum SystemRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        precondition(RAND_bytes(&bytes, CInt(count)) == 1, "the system has no randomness to give")
        return bytes
    }
}
