/// Writing JSON into a buffer of bytes, for answers and log lines.
extension [UInt8] {
    mutating func append(_ word: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBytes { append(contentsOf: $0) }
    }

    mutating func append(decimal number: some BinaryInteger) {
        append(contentsOf: String(number).utf8)
    }

    /// A quoted string. The bytes must be UTF-8.
    mutating func appendQuoted(_ bytes: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        for index in 0..<bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case UInt8(ascii: "\n"): append("\\n")
            case UInt8(ascii: "\r"): append("\\r")
            case UInt8(ascii: "\t"): append("\\t")
            case 0x00..<0x20, 0x7F:
                append("\\u00")
                append(Hexadecimal.digit(byte >> 4))
                append(Hexadecimal.digit(byte))
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }

    /// A quoted string of bytes that may be no UTF-8: what is not reads U+FFFD.
    mutating func appendQuoted(repairing bytes: Span<UInt8>) {
        let repaired = Array(bytes.text.utf8)
        appendQuoted(repaired.span)
    }
}

/// Hexadecimal digits in lower case.
enum Hexadecimal {
    /// The digit of the low four bits.
    static func digit(_ value: UInt8) -> UInt8 {
        let nibble = value & 0xF
        return nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}
