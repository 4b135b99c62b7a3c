/// Says whether bytes are one JSON object (RFC 8259), without building it.
///
/// It walks with a stack of its own, kept between payloads: ten thousand nested brackets cost memory, never the
/// program's stack.
struct JSONObjectCheck {
    private enum Step {
        case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd
    }

    private var isObject: [Bool] = []

    mutating func accepts(_ bytes: Span<UInt8>) -> Bool {
        var at = 0
        return passes(bytes, &at)
    }

    /// Where the first byte is that no JSON object has there, or the end that comes too soon; nil where all is well.
    mutating func faultOffset(in bytes: Span<UInt8>) -> Int? {
        var at = 0
        return passes(bytes, &at) ? nil : at
    }

    private mutating func passes(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        isObject.removeAll(keepingCapacity: true)
        skipSpace(bytes, &at)
        guard at < bytes.count, bytes[at] == UInt8(ascii: "{") else { return false }
        at += 1
        isObject.append(true)
        var step = Step.keyOrEnd
        while let inObject = isObject.last {
            skipSpace(bytes, &at)
            guard at < bytes.count else { return false }
            let byte = bytes[at]
            switch step {
            case .keyOrEnd where byte == UInt8(ascii: "}"), .valueOrEnd where byte == UInt8(ascii: "]"):
                at += 1
                isObject.removeLast()
                step = .commaOrEnd
            case .key, .keyOrEnd:
                guard string(bytes, &at) else { return false }
                step = .colon
            case .colon:
                guard byte == UInt8(ascii: ":") else { return false }
                at += 1
                step = .value
            case .value, .valueOrEnd:
                guard let next = value(bytes, &at) else { return false }
                step = next
            case .commaOrEnd:
                if byte == UInt8(ascii: ",") {
                    step = inObject ? .key : .value
                } else if byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    isObject.removeLast()
                } else {
                    return false
                }
                at += 1
            }
        }
        skipSpace(bytes, &at)
        return at == bytes.count
    }

    /// Passes a scalar or opens a container; says what must follow, or nil where there is no value.
    private mutating func value(_ bytes: Span<UInt8>, _ at: inout Int) -> Step? {
        switch bytes[at] {
        case UInt8(ascii: "{"):
            at += 1
            isObject.append(true)
            return .keyOrEnd
        case UInt8(ascii: "["):
            at += 1
            isObject.append(false)
            return .valueOrEnd
        case UInt8(ascii: "\""): return string(bytes, &at) ? .commaOrEnd : nil
        case UInt8(ascii: "t"): return word("true", bytes, &at) ? .commaOrEnd : nil
        case UInt8(ascii: "f"): return word("false", bytes, &at) ? .commaOrEnd : nil
        case UInt8(ascii: "n"): return word("null", bytes, &at) ? .commaOrEnd : nil
        default: return number(bytes, &at) ? .commaOrEnd : nil
        }
    }

    private func skipSpace(_ bytes: Span<UInt8>, _ at: inout Int) {
        while at < bytes.count {
            switch bytes[at] {
            case 0x20, 0x09, 0x0A, 0x0D: at += 1
            default: return
            }
        }
    }

    private func word(_ word: StaticString, _ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        let end = at + word.utf8CodeUnitCount
        guard end <= bytes.count, bytes.extracting(at..<end).equals(word) else { return false }
        at = end
        return true
    }

    private func number(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        if bytes[at] == UInt8(ascii: "-") { at += 1 }
        if at < bytes.count, bytes[at] == UInt8(ascii: "0") {
            at += 1
        } else {
            guard digits(bytes, &at) else { return false }
        }
        if at < bytes.count, bytes[at] == UInt8(ascii: ".") {
            at += 1
            guard digits(bytes, &at) else { return false }
        }
        if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if at < bytes.count, bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at += 1 }
            guard digits(bytes, &at) else { return false }
        }
        return true
    }

    private func digits(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        let start = at
        while at < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[at] { at += 1 }
        return at > start
    }

    private func string(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return false }
        at += 1
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                at += 1
                return true
            case UInt8(ascii: "\\"): guard escape(bytes, &at) else { return false }
            case 0x00..<0x20: return false
            case 0x20..<0x80: at += 1
            default: guard multibyte(bytes, &at) else { return false }
            }
        }
        return false
    }

    private func escape(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        guard at + 1 < bytes.count else { return false }
        switch bytes[at + 1] {
        case UInt8(ascii: "u"):
            guard at + 6 <= bytes.count else { return false }
            for index in at + 2..<at + 6 where HeaderForm.nibble(bytes[index]) == nil { return false }
            at += 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 2
        default: return false
        }
        return true
    }

    /// One well-formed UTF-8 sequence of two to four bytes (the Unicode Standard, table 3-7).
    private func multibyte(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[at] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        case 0xF1...0xF3: length = 4
        default: return false
        }
        guard at + length <= bytes.count, second ~= bytes[at + 1] else { return false }
        for index in at + 2..<at + length where bytes[index] & 0xC0 != 0x80 { return false }
        at += length
        return true
    }
}
