import CarillonText

/// Checks that bytes are one JSON object (RFC 8259), without building it.
///
/// It keeps its own stack, so ten thousand nested brackets cost memory but cannot overflow the program's stack.
struct JSONObjectCheck {
    private enum Step {
        case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd
    }

    /// For each open bracket, whether it belongs to an object. The memory is reused between payloads.
    private var isObject: [Bool] = []

    /// The offset of the first byte that makes this not a JSON object, or the count if the bytes end too soon; nil for a valid
    /// object.
    mutating func faultOffset(in bytes: Span<UInt8>) -> Int? {
        var at = 0
        let isObject = passes(bytes, &at)
        do {
            _ = try UTF8Span(validating: bytes)
            return isObject ? nil : at
        } catch {
            return isObject ? error.byteOffsets.lowerBound : min(at, error.byteOffsets.lowerBound)
        }
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

    /// Passes a scalar or opens a container. Returns what must follow, or nil if there is no value.
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
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            let isWord = word("true", bytes, &at) || word("false", bytes, &at) || word("null", bytes, &at)
            return isWord ? .commaOrEnd : nil
        default: return number(bytes, &at) ? .commaOrEnd : nil
        }
    }

    private func skipSpace(_ bytes: Span<UInt8>, _ at: inout Int) {
        while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x0A || bytes[at] == 0x0D || bytes[at] == 0x09 {
            at += 1
        }
    }

    private func word(_ word: StaticString, _ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        guard bytes.extracting(at...).hasPrefix(word) else { return false }
        at += word.utf8CodeUnitCount
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
            default: at += 1
            }
        }
        return false
    }

    private func escape(_ bytes: Span<UInt8>, _ at: inout Int) -> Bool {
        guard at + 1 < bytes.count else { return false }
        switch bytes[at + 1] {
        case UInt8(ascii: "u"):
            guard at + 6 <= bytes.count else { return false }
            for index in at + 2..<at + 6 where Hexadecimal.value(of: bytes[index]) == nil { return false }
            at += 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 2
        default: return false
        }
        return true
    }
}
