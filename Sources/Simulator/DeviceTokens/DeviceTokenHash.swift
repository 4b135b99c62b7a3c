/// An eight-byte hash of a device token, because a million of them are remembered. The digits may be in either case.
struct DeviceTokenHash {
    /// Random, so that a client cannot make up device tokens with the same hash.
    private let seed = UInt64.random(in: 0 ... .max)

    func value(of token: Span<UInt8>) -> UInt64 {
        token.withUnsafeBytes { bytes in
            var hash = seed
            var position = 0
            while position + 8 <= bytes.count {
                // This bit is set in digits and in small letters.
                let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) | 0x2020_2020_2020_2020
                hash = Self.mix(hash ^ word)
                position += 8
            }
            var rest = UInt64(bytes.count)
            for byte in bytes[position...] { rest = rest << 8 | UInt64(byte | 0x20) }
            return Self.mix(hash ^ rest)
        }
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        let (high, low) = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return high ^ low ^ value >> 32
    }
}
