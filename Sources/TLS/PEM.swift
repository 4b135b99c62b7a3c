/// The armour around certificates and keys in text: blocks between `-----BEGIN X-----` and `-----END X-----`.
package struct PEM {
    package struct Block {
        /// What the block says it is, as in "CERTIFICATE".
        package let label: String
        /// Where it stands, both lines included.
        package let range: Range<Int>

        var isCertificate: Bool { ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains(self.label) }
        var isPrivateKey: Bool { self.label.hasSuffix("PRIVATE KEY") }
    }

    package let blocks: [Block]

    package init(_ text: [UInt8]) {
        var blocks: [Block] = []
        var position = 0
        while let begin = Self.find(Self.begin, in: text, from: position) {
            let labelStart = begin + Self.begin.count
            guard let labelEnd = Self.find(Self.dashes, in: text, from: labelStart) else { break }
            let label = text[labelStart..<labelEnd]
            let closing = Self.end + label + Self.dashes
            guard label.count < 64, let end = Self.find(closing, in: text, from: labelEnd) else {
                position = labelStart
                continue
            }
            position = end + closing.count
            blocks.append(Block(label: String(decoding: label, as: UTF8.self), range: begin..<position))
        }
        self.blocks = blocks
    }

    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)

    private static func find(_ pattern: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        var index = start
        while index + pattern.count <= text.count {
            if text[index] == pattern[0], text[index..<index + pattern.count].elementsEqual(pattern) { return index }
            index += 1
        }
        return nil
    }
}
