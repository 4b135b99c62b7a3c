/// Eight bytes tested at once, in any order. Each request has about a dozen such words.
struct EightBytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let high: UInt64 = 0x8080_8080_8080_8080

    private let bytes: UInt64

    init(_ bytes: UInt64) { self.bytes = bytes }

    /// Whether all bytes are hexadecimal digits, in either case.
    var areHexadecimal: Bool {
        // This bit turns capital letters into lower case.
        areASCII && (digits | Self.inRange(bytes | 0x20 &* Self.ones, "a", "f")) == Self.high
    }

    /// Whether all bytes are hexadecimal digits without capital letters.
    var areLowercaseHexadecimal: Bool { areASCII && (digits | Self.inRange(bytes, "a", "f")) == Self.high }

    private var areASCII: Bool { bytes & Self.high == 0 }

    private var digits: UInt64 { Self.inRange(bytes, "0", "9") }

    /// Sets the highest bit of each byte in the range. All bytes must be ASCII, so that none carries into the next.
    private static func inRange(_ bytes: UInt64, _ first: Unicode.Scalar, _ last: Unicode.Scalar) -> UInt64 {
        let isFromFirst = bytes &+ UInt64(0x80 - first.value) &* ones
        let isBeyondLast = bytes &+ UInt64(0x7F - last.value) &* ones
        return isFromFirst & ~isBeyondLast & high
    }
}
