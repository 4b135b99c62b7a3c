/// The armour around certificates and keys in text: blocks between `-----BEGIN X-----` and `-----END X-----`.
///
/// The text may come from a row that anybody could write, so the time it takes grows with its length and no faster,
/// whatever stands in it.
package struct PEM {
    package struct Block {
        /// What the block says it is, as in "CERTIFICATE".
        package let label: String
        /// Where it stands, both lines included.
        package let range: Range<Int>

        var isCertificate: Bool { ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains(self.label) }
        var isPrivateKey: Bool { self.label.hasSuffix("PRIVATE KEY") }
        /// The one form of several whose text says how much work it is to open it.
        var isEncryptedKey: Bool { self.label == "ENCRYPTED PRIVATE KEY" }
    }

    /// The longest text that is read, in bytes: twice the size of a system's bundle of roots.
    package static let limit = 524_288

    package let blocks: [Block]

    /// Reads a text that `what` names in sentences; one beyond the limit is refused unread.
    init(_ text: [UInt8], what: String) throws(TLSError) {
        guard text.count <= Self.limit else {
            throw TLSError(
                .tooLong,
                "\(what) has \(text.count) bytes, and at most \(Self.limit) are read: give the certificate with its "
                    + "chain, or the key, and nothing else"
            )
        }
        self.init(text)
    }

    package init(_ text: [UInt8]) {
        var ends: [ArraySlice<UInt8>: Ends] = [:]
        var begins: [PEMLine] = []
        var scanner = PEMScanner()
        while let line = scanner.next(in: text) {
            switch line.kind {
            case .begin: begins.append(line)
            case .end: ends[line.label, default: Ends()].starts.append(line.start)
            }
        }
        var blocks: [Block] = []
        var position = 0
        for begin in begins where begin.start >= position {
            // The closing line may use the dashes that end the opening one.
            guard let place = ends.index(forKey: begin.label),
                let end = ends.values[place].first(from: begin.label.endIndex)
            else { continue }
            position = end + PEMScanner.closingCount(of: begin.label)
            blocks.append(Block(label: String(decoding: begin.label, as: UTF8.self), range: begin.start..<position))
        }
        self.blocks = blocks
    }

    /// The closing lines of one label, in order. They are asked for from places that only grow, so none is passed twice.
    private struct Ends {
        var starts: [Int] = []
        private var passed = 0

        mutating func first(from position: Int) -> Int? {
            while self.passed < self.starts.count, self.starts[self.passed] < position { self.passed += 1 }
            return self.passed < self.starts.count ? self.starts[self.passed] : nil
        }
    }
}
