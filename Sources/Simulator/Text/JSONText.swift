/// Writes JSON into a buffer of bytes, for answers and log lines.
extension [UInt8] {
    mutating func append(_ word: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    mutating func append(_ bytes: Span<UInt8>) { bytes.withUnsafeBytes { append(contentsOf: $0) } }

    mutating func append(decimal number: some BinaryInteger) {
        append(contentsOf: String(number).utf8)
    }

    mutating func append(hexadecimal byte: UInt8) {
        for digit in [byte >> 4, byte & 0xF] {
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// Appends a quoted string. The bytes must be UTF-8.
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

    mutating func appendQuoted(_ text: String) {
        let bytes = Array(text.utf8)
        appendQuoted(bytes.span)
    }

    /// Appends a quoted string. Bytes that are not UTF-8 become U+FFFD.
    mutating func appendQuoted(repairing bytes: Span<UInt8>) {
        for index in 0..<bytes.count where bytes[index] >= 0x80 { return appendQuoted(bytes.text) }
        appendQuoted(bytes)
    }

    /// Appends a comma and the name of a member.
    mutating func appendName(_ name: StaticString) {
        append(",\"")
        append(name)
        append("\":")
    }

    mutating func appendMember(_ name: StaticString, _ number: (some BinaryInteger)?) {
        appendName(name)
        if let number { append(decimal: number) } else { append("null") }
    }

    mutating func appendMember(_ name: StaticString, _ text: String?) {
        appendName(name)
        if let text { appendQuoted(text) } else { append("null") }
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
            append(hexadecimal: byte)
        }
    }
}
