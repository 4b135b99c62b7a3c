/// SipHash-2-4 with a 128-bit result (Aumasson and Bernstein): a keyed hash that, unlike Swift's `Hasher`, is the same on every
/// machine.
struct SipHash {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var tail: UInt64 = 0
    private var count: UInt64 = 0

    init(key: (UInt64, UInt64)) {
        v0 = key.0 ^ 0x736f_6d65_7073_6575
        v1 = key.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = key.0 ^ 0x6c79_6765_6e65_7261
        v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    private mutating func combine(_ byte: UInt8) {
        tail |= UInt64(byte) &<< ((count & 7) &* 8)
        count &+= 1
        if count & 7 == 0 { compressTail() }
    }

    /// The eight bytes of the number, least significant first.
    mutating func combine(_ number: UInt64) {
        guard count & 7 != 0 else { return compress(number) }
        for shift in stride(from: UInt64(0), to: 64, by: 8) { combine(UInt8(truncatingIfNeeded: number &>> shift)) }
    }

    mutating func combine(_ bytes: RawSpan) {
        var offset = 0
        while count & 7 == 0, bytes.byteCount &- offset >= 8 {
            compress(bytes.word(at: offset))
            offset &+= 8
        }
        while offset < bytes.byteCount {
            combine(bytes[byte: offset])
            offset &+= 1
        }
    }

    consuming func finalize() -> (UInt64, UInt64) {
        tail |= count &<< 56
        compressTail()
        v2 ^= 0xee
        for _ in 0..<4 { round() }
        let first = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        for _ in 0..<4 { round() }
        return (first, v0 ^ v1 ^ v2 ^ v3)
    }

    /// Takes a word that begins where a word of the input begins.
    private mutating func compress(_ word: UInt64) {
        count &+= 8
        mix(word)
    }

    private mutating func compressTail() {
        mix(tail)
        tail = 0
    }

    private mutating func mix(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotate(v1, 13) ^ v0
        v0 = Self.rotate(v0, 32)
        v2 &+= v3
        v3 = Self.rotate(v3, 16) ^ v2
        v0 &+= v3
        v3 = Self.rotate(v3, 21) ^ v0
        v2 &+= v1
        v1 = Self.rotate(v1, 17) ^ v2
        v2 = Self.rotate(v2, 32)
    }

    private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 { word &<< bits | word &>> (64 &- bits) }
}
