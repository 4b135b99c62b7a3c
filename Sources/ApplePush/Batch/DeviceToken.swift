import CarillonText

/// The form of a device token: 1 to 256 bytes in hexadecimal digits of either case. Apple guarantees no length.
package enum DeviceToken {
    package enum Form: Sendable {
        case lowerCase
        /// With capital letters, but the same token.
        case mixedCase
        case malformed

        package init(_ token: RawSpan) {
            let count = token.byteCount
            guard DeviceToken.counts.contains(count), count.isMultiple(of: 2) else {
                self = .malformed
                return
            }
            var characters = EightCharacters()
            token.forEachWord(paddedWith: UInt8(ascii: "0")) { characters.add($0) }
            self = !characters.areDigits ? .malformed : characters.haveCapitals ? .mixedCase : .lowerCase
        }
    }

    /// What is known of a token's characters, eight of them at a time. Only the highest bit of each byte counts.
    private struct EightCharacters {
        private var digits = WordOfBytes.highBits
        private var capitals: UInt64 = 0

        mutating func add(_ word: UInt64) {
            let letters = WordOfBytes.within(UInt8(ascii: "a")...UInt8(ascii: "f"), word | WordOfBytes.repeating(0x20))
            digits &= letters | WordOfBytes.within(UInt8(ascii: "0")...UInt8(ascii: "9"), word)
            digits &= ~word
            // Small letters have the bit 0x20.
            capitals |= letters & ~(word &<< 2)
        }

        var areDigits: Bool { digits & WordOfBytes.highBits == WordOfBytes.highBits }
        var haveCapitals: Bool { capitals & WordOfBytes.highBits != 0 }
    }

    /// The possible numbers of digits; the actual number is even.
    package static let counts = 1...512

    /// The hexadecimal digit in lower case; nil for any other byte.
    @inline(__always)
    package static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): byte
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte | 0x20
        default: nil
        }
    }
}
