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
        var start = 0
        for index in 0..<bytes.count where Self.needsEscape(bytes[index]) {
            append(bytes.extracting(start..<index))
            appendEscaped(bytes[index])
            start = index + 1
        }
        append(bytes.extracting(start..<bytes.count))
        append(UInt8(ascii: "\""))
    }

    /// A quoted string of bytes that may be no UTF-8: what is not reads U+FFFD.
    mutating func appendQuoted(repairing bytes: Span<UInt8>) {
        for index in 0..<bytes.count where bytes[index] >= 0x80 {
            let repaired = Array(bytes.text.utf8)
            return appendQuoted(repaired.span)
        }
        appendQuoted(bytes)
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case UInt8(ascii: "\n"): append("\\n")
        case UInt8(ascii: "\r"): append("\\r")
        case UInt8(ascii: "\t"): append("\\t")
        default:
            append("\\u00")
            append(Hexadecimal.digit(byte >> 4))
            append(Hexadecimal.digit(byte))
        }
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
