/// Finds the lines that open and close blocks of PEM. Each byte of the text is looked at a bounded number of times.
struct PEMScanner {
    /// Labels have fewer bytes than that; RFC 7468 knows none above thirty.
    private static let labelLimit = 64

    private static let dashes = Array("-----".utf8)
    private static let begin = Array("BEGIN ".utf8)
    private static let end = Array("END ".utf8)

    private var position = 0

    /// How many bytes a closing line of that label has.
    static func closingCount(of label: ArraySlice<UInt8>) -> Int {
        Self.dashes.count + Self.end.count + label.count + Self.dashes.count
    }

    mutating func next(in text: [UInt8]) -> PEMLine? {
        while self.position < text.count {
            let start = self.position
            self.position += 1
            guard text[start] == UInt8(ascii: "-"), Self.has(Self.dashes, at: start, in: text) else { continue }
            let word = start + Self.dashes.count
            let kind: PEMLine.Kind
            if Self.has(Self.begin, at: word, in: text) {
                kind = .begin
            } else if Self.has(Self.end, at: word, in: text) {
                kind = .end
            } else {
                continue
            }
            let label = word + (kind == .begin ? Self.begin.count : Self.end.count)
            guard let labelEnd = Self.dashes(from: label, in: text) else { continue }
            return PEMLine(kind: kind, start: start, label: text[label..<labelEnd])
        }
        return nil
    }

    /// Where the label that starts there ends.
    private static func dashes(from start: Int, in text: [UInt8]) -> Int? {
        (start..<start + Self.labelLimit).first { self.has(self.dashes, at: $0, in: text) }
    }

    private static func has(_ word: [UInt8], at start: Int, in text: [UInt8]) -> Bool {
        guard start + word.count <= text.count else { return false }
        for offset in word.indices where text[start + offset] != word[offset] { return false }
        return true
    }
}
