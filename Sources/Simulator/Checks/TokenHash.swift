/// Eight bytes that stand for a device token, where a million of them are remembered. Its digits may be in either case.
struct TokenHash {
    /// Nobody outside can make up tokens that are taken for others.
    private let seed = UInt64.random(in: 0 ... .max)

    func value(of token: Span<UInt8>) -> UInt64 {
        token.withUnsafeBytes { bytes in
            var hash = seed
            var position = 0
            while position + 8 <= bytes.count {
                // Digits have this bit already, letters have it in lower case.
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
