/// Writes JSON into a buffer of bytes. All JSON strings of the program and the simulator are quoted here, except those of
/// `Encodable` values.
extension [UInt8] {
    // Inlined, like the methods below, because the simulator uses them to write a line for each request.
    @inlinable
    package mutating func append(_ word: StaticString) {
        // Safe: a literal is never freed.
        unsafe append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    @inlinable
    package mutating func append(_ bytes: Span<UInt8>) {
        // Safe: the bytes are copied within the closure.
        unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }

    @inlinable
    package mutating func append(decimal number: some BinaryInteger) {
        append(contentsOf: String(number).utf8)
    }

    /// Appends a quoted string. The bytes must be UTF-8.
    package mutating func appendQuoted(_ bytes: Span<UInt8>) {
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

    package mutating func appendQuoted(_ text: String) {
        let bytes = Array(text.utf8)
        appendQuoted(bytes.span)
    }

    /// Appends a quoted string. Bytes that are not UTF-8 become U+FFFD.
    package mutating func appendQuoted(repairing bytes: Span<UInt8>) {
        for index in 0..<bytes.count where bytes[index] >= 0x80 {
            // Safe: the bytes are copied within the closure.
            return appendQuoted(unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) })
        }
        appendQuoted(bytes)
    }

    /// Appends a comma and the name of a member.
    @inlinable
    package mutating func appendName(_ name: StaticString) {
        append(",\"")
        append(name)
        append("\":")
    }

    @inlinable
    package mutating func appendMember(_ name: StaticString, _ number: (some BinaryInteger)?) {
        appendName(name)
        if let number { append(decimal: number) } else { append("null") }
    }

    package mutating func appendMember(_ name: StaticString, _ text: String?) {
        appendName(name)
        if let text { appendQuoted(text) } else { append("null") }
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
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
