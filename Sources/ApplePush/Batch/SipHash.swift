/// SipHash-2-4 with a 128-bit result (Aumasson and Bernstein): a keyed hash that is short, fast and the same on
/// every machine, which Swift's own `Hasher` on purpose is not.
struct SipHash {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var tail: UInt64 = 0
    private var count: UInt64 = 0

    init(key: (UInt64, UInt64)) {
        self.v0 = key.0 ^ 0x736f_6d65_7073_6575
        self.v1 = key.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        self.v2 = key.0 ^ 0x6c79_6765_6e65_7261
        self.v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    mutating func combine(_ byte: UInt8) {
        self.tail |= UInt64(byte) &<< ((self.count & 7) &* 8)
        self.count &+= 1
        if self.count & 7 == 0 { self.compress() }
    }

    /// The eight bytes of the number, least significant first.
    mutating func combine(_ number: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            self.combine(UInt8(truncatingIfNeeded: number &>> shift))
        }
    }

    mutating func combine(_ bytes: RawSpan) {
        for offset in bytes.byteOffsets { self.combine(bytes[byte: offset]) }
    }

    consuming func finalize() -> (UInt64, UInt64) {
        self.tail |= self.count &<< 56
        self.compress()
        self.v2 ^= 0xee
        for _ in 0..<4 { self.round() }
        let first = self.v0 ^ self.v1 ^ self.v2 ^ self.v3
        self.v1 ^= 0xdd
        for _ in 0..<4 { self.round() }
        return (first, self.v0 ^ self.v1 ^ self.v2 ^ self.v3)
    }

    private mutating func compress() {
        self.v3 ^= self.tail
        self.round()
        self.round()
        self.v0 ^= self.tail
        self.tail = 0
    }

    private mutating func round() {
        self.v0 &+= self.v1
        self.v1 = Self.rotate(self.v1, 13) ^ self.v0
        self.v0 = Self.rotate(self.v0, 32)
        self.v2 &+= self.v3
        self.v3 = Self.rotate(self.v3, 16) ^ self.v2
        self.v0 &+= self.v3
        self.v3 = Self.rotate(self.v3, 21) ^ self.v0
        self.v2 &+= self.v1
        self.v1 = Self.rotate(self.v1, 17) ^ self.v2
        self.v2 = Self.rotate(self.v2, 32)
    }

    private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 { word &<< bits | word &>> (64 &- bits) }
}
