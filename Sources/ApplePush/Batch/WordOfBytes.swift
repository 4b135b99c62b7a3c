/// Looks at eight bytes at once.
enum WordOfBytes {
    /// The highest bit of each byte.
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    static func repeating(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// The highest bit of each byte says whether its other seven are in this range of ASCII. The other bits mean nothing.
    @inline(__always)
    static func within(_ range: ClosedRange<UInt8>, _ word: UInt64) -> UInt64 {
        // With seven bits, no sum reaches the next byte.
        let ascii = word & ~highBits
        let isAtLeast = ascii &+ repeating(0x80 - range.lowerBound)
        let isAbove = ascii &+ repeating(0x7f - range.upperBound)
        return isAtLeast & ~isAbove
    }
}

extension RawSpan {
    /// Passes all bytes to the body, eight at a time. The last eight may overlap those before them, and fewer than eight are filled
    /// up with others.
    @inline(__always)
    func forEachWord(paddedWith padding: UInt8, _ body: (UInt64) -> Void) {
        guard byteCount >= 8 else {
            var word = WordOfBytes.repeating(padding)
            for offset in byteOffsets { word = word &<< 8 | UInt64(self[byte: offset]) }
            return body(word)
        }
        var offset = 0
        while offset &+ 8 <= byteCount {
            body(word(at: offset))
            offset &+= 8
        }
        if offset < byteCount { body(word(at: byteCount &- 8)) }
    }

    /// Whether every byte is in this range of ASCII.
    package func isWithin(_ range: ClosedRange<UInt8>) -> Bool {
        var within = WordOfBytes.highBits
        forEachWord(paddedWith: range.lowerBound) { within &= WordOfBytes.within(range, $0) & ~$0 }
        return within & WordOfBytes.highBits == WordOfBytes.highBits
    }

    package func equals(_ other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        var offset = 0
        while offset &+ 8 <= byteCount {
            if word(at: offset) != other.word(at: offset) { return false }
            offset &+= 8
        }
        // The last eight bytes overlap those before them.
        if byteCount >= 8 { return word(at: byteCount &- 8) == other.word(at: byteCount &- 8) }
        for offset in byteOffsets where self[byte: offset] != other[byte: offset] { return false }
        return true
    }
}
