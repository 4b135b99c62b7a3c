/// The part of DER that this module reads and writes itself. Malformed input ends the reading; nothing is read out of bounds.
enum DER {
    struct Element: Equatable {
        let tag: UInt8
        let content: ArraySlice<UInt8>
    }

    static let integer: UInt8 = 0x02
    static let octetString: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06
    static let utf8String: UInt8 = 0x0C
    static let sequence: UInt8 = 0x30

    /// The consecutive values in the bytes.
    static func elements(of bytes: ArraySlice<UInt8>) -> [Element] {
        var rest = bytes
        var elements: [Element] = []
        while let tag = rest.popFirst(), let length = length(from: &rest), length <= rest.count {
            elements.append(Element(tag: tag, content: rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return elements
    }

    private static func length(from rest: inout ArraySlice<UInt8>) -> Int? {
        guard let first = rest.popFirst() else { return nil }
        if first < 0x80 { return Int(first) }
        let count = Int(first & 0x7F)
        guard (1...4).contains(count), rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
    }

    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length = [UInt8(truncatingIfNeeded: content.count)]
        if content.count >= 0x80 {
            let bytes = withUnsafeBytes(of: content.count.bigEndian) { Array($0.drop { $0 == 0 }) }
            length = [0x80 | UInt8(bytes.count)] + bytes
        }
        return [tag] + length + content
    }
}
