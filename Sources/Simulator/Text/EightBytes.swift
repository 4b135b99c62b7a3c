import CarillonText

/// Eight bytes tested at once, in any order. Each request has about a dozen such words.
struct EightBytes {
    private let bytes: UInt64

    init(_ bytes: UInt64) { self.bytes = bytes }

    /// Whether all bytes are hexadecimal digits, in either case.
    var areHexadecimal: Bool {
        // This bit turns capital letters into lower case.
        areDigits(orLetters: bytes | WordOfBytes.repeating(0x20))
    }

    /// Whether all bytes are hexadecimal digits without capital letters.
    var areLowercaseHexadecimal: Bool { areDigits(orLetters: bytes) }

    private func areDigits(orLetters letters: UInt64) -> Bool {
        let found =
            WordOfBytes.within(UInt8(ascii: "0")...UInt8(ascii: "9"), bytes)
            | WordOfBytes.within(UInt8(ascii: "a")...UInt8(ascii: "f"), letters)
        return found & ~bytes & WordOfBytes.highBits == WordOfBytes.highBits
    }
}
