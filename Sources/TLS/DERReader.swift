/// Reads the outer structure of DER: one tagged value after the other. Wrong input ends it; nothing is out of bounds.
struct DERReader {
    struct Element: Equatable {
        let tag: UInt8
        let content: ArraySlice<UInt8>
    }

    static let integer: UInt8 = 0x02
    static let octetString: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06
    static let sequence: UInt8 = 0x30
    static let utf8String: UInt8 = 0x0C

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.rest = bytes
    }

    mutating func next() -> Element? {
        guard let tag = self.rest.popFirst(), let length = self.length(), length <= self.rest.count else {
            self.rest = []
            return nil
        }
        defer { self.rest = self.rest.dropFirst(length) }
        return Element(tag: tag, content: self.rest.prefix(length))
    }

    static func elements(of bytes: ArraySlice<UInt8>) -> [Element] {
        var reader = Self(bytes)
        var elements: [Element] = []
        while let element = reader.next() { elements.append(element) }
        return elements
    }

    private mutating func length() -> Int? {
        guard let first = self.rest.popFirst() else { return nil }
        if first < 0x80 { return Int(first) }
        let count = Int(first & 0x7F)
        guard (1...4).contains(count), self.rest.count >= count else { return nil }
        var length = 0
        for _ in 0..<count {
            guard let byte = self.rest.popFirst() else { return nil }
            length = length << 8 | Int(byte)
        }
        return length
    }
}
