/// Finds the lines that open and close PEM blocks. Each byte of the text is examined a bounded number of times.
struct PEMScanner {
    struct Line {
        let opens: Bool
        /// The position of its first dash.
        let start: Int
        /// The text between BEGIN or END and the dashes, as a slice of the whole.
        let label: ArraySlice<UInt8>
    }

    /// Labels are shorter than this, in bytes; the longest in RFC 7468 has fewer than thirty.
    private static let labelLimit = 64

    private static let dashes = Array("-----".utf8)
    private static let begin = Array("BEGIN ".utf8)
    private static let end = Array("END ".utf8)

    private var position = 0

    /// The length in bytes of a closing line with this label.
    static func closingCount(of label: ArraySlice<UInt8>) -> Int {
        dashes.count + end.count + label.count + dashes.count
    }

    mutating func next(in text: [UInt8]) -> Line? {
        while position < text.count {
            let start = position
            position += 1
            guard text[start] == UInt8(ascii: "-"), Self.has(Self.dashes, at: start, in: text) else { continue }
            let word = start + Self.dashes.count
            let opens = Self.has(Self.begin, at: word, in: text)
            guard opens || Self.has(Self.end, at: word, in: text) else { continue }
            let label = word + (opens ? Self.begin.count : Self.end.count)
            guard let labelEnd = Self.dashes(from: label, in: text) else { continue }
            return Line(opens: opens, start: start, label: text[label..<labelEnd])
        }
        return nil
    }

    /// The end of the label that starts at `start`.
    private static func dashes(from start: Int, in text: [UInt8]) -> Int? {
        (start..<start + labelLimit).first { has(dashes, at: $0, in: text) }
    }

    private static func has(_ word: [UInt8], at start: Int, in text: [UInt8]) -> Bool {
        guard start + word.count <= text.count else { return false }
        for offset in word.indices where text[start + offset] != word[offset] { return false }
        return true
    }
}
