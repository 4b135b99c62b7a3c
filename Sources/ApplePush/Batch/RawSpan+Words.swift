import CarillonText

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
