/// Finds the lines that open and close blocks of PEM. Each byte of the text is looked at a bounded number of times.
struct PEMScanner {
    struct Line {
        let opens: Bool
        /// Where its first dash is.
        let start: Int
        /// What is between the word and the dashes, with its place in the text.
        let label: ArraySlice<UInt8>
    }

    /// Labels have fewer bytes than this; RFC 7468 has none above thirty.
    private static let labelLimit = 64

    private static let dashes = Array("-----".utf8)
    private static let begin = Array("BEGIN ".utf8)
    private static let end = Array("END ".utf8)

    private var position = 0

    /// How many bytes a closing line of that label has.
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

    /// Where the label that starts there ends.
    private static func dashes(from start: Int, in text: [UInt8]) -> Int? {
        (start..<start + labelLimit).first { has(dashes, at: $0, in: text) }
    }

    private static func has(_ word: [UInt8], at start: Int, in text: [UInt8]) -> Bool {
        guard start + word.count <= text.count else { return false }
        for offset in word.indices where text[start + offset] != word[offset] { return false }
        return true
    }
}
