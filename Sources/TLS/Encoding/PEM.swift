/// Certificates and keys in text: blocks between `-----BEGIN X-----` and `-----END X-----` (RFC 7468).
///
/// The text may come from a row that any user can write, so reading it takes time linear in its length, whatever it contains.
package struct PEM {
    package struct Block {
        /// As in "CERTIFICATE".
        package let label: String
        /// Its range in the text, including both lines.
        package let range: Range<Int>

        var isCertificate: Bool { ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains(label) }
        var isPrivateKey: Bool { label.hasSuffix("PRIVATE KEY") }
        /// The only form whose unencrypted header states the cost of decrypting it.
        var isEncryptedKey: Bool { label == "ENCRYPTED PRIVATE KEY" }
    }

    /// The longest text that is read, in bytes: twice the size of a system's root bundle.
    package static let limit = 524_288

    package let blocks: [Block]

    /// Reads a text of at most `limit` bytes; `what` names it in errors.
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
        var begins: [PEMScanner.Line] = []
        var scanner = PEMScanner()
        while let line = scanner.next(in: text) {
            if line.opens {
                begins.append(line)
            } else {
                ends[line.label, default: Ends()].starts.append(line.start)
            }
        }
        var blocks: [Block] = []
        var position = 0
        for begin in begins where begin.start >= position {
            // The closing line may share the dashes that end the opening line.
            guard let index = ends.index(forKey: begin.label),
                let end = ends.values[index].first(from: begin.label.endIndex)
            else { continue }
            position = end + PEMScanner.closingCount(of: begin.label)
            blocks.append(Block(label: String(decoding: begin.label, as: UTF8.self), range: begin.start..<position))
        }
        self.blocks = blocks
    }

    /// The closing lines of one label, in order. Searches start at ever-later positions, so no line is passed twice.
    private struct Ends {
        var starts: [Int] = []
        private var passed = 0

        mutating func first(from position: Int) -> Int? {
            while passed < starts.count, starts[passed] < position { passed += 1 }
            return passed < starts.count ? starts[passed] : nil
        }
    }
}
