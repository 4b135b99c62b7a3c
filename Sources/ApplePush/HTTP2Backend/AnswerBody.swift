import CarillonText

/// The body of an answer with a status other than 200: `{"reason":"Unregistered","timestamp":1729000000000}`.
///
/// It is parsed in place, without a String for a known reason, because answers arrive by the ten thousand. A body of any other form
/// yields no reason.
struct AnswerBody: Equatable {
    private(set) var reason: Range<Int>?
    private(set) var timestamp: Int64?

    /// Reads the two members of an object, and skips others.
    init(_ body: RawSpan) {
        var scanner = Scanner(offset: 0, end: body.byteCount)
        guard scanner.skip(UInt8(ascii: "{"), in: body) else { return }
        while let name = scanner.string(in: body) {
            guard scanner.skip(UInt8(ascii: ":"), in: body) else { return }
            if let text = scanner.string(in: body) {
                if body.holds("reason", at: name) { reason = text }
            } else if let number = scanner.token(in: body) {
                if body.holds("timestamp", at: name) { timestamp = body.wholeNumber(at: number) }
            } else {
                return
            }
            guard scanner.skip(UInt8(ascii: ","), in: body) else { return }
        }
    }

    /// The reason: from the table, or with its text kept in the outcomes. The text is truncated to 100 bytes, and control
    /// characters are replaced, because databases and terminals do not accept them.
    func reason(in body: RawSpan, keeping outcomes: inout Outcomes) -> Reason {
        guard let range = reason, !range.isEmpty else { return .none }
        if let known = Reason(spelled: body, at: range) { return known }
        var words: [UInt8] = []
        for offset in range.prefix(100) {
            let byte = body[byte: offset]
            words.append(byte < 0x20 || byte == 0x7f ? UInt8(ascii: "?") : byte)
        }
        return outcomes.reason(named: String(decoding: words, as: UTF8.self))
    }

    /// The reason of an answer whose outcomes are kept nowhere, and its text, which is empty without a reason.
    static func reason(in body: RawSpan) -> (reason: Reason, text: String) {
        var words = Outcomes(repeating: .pending, count: 0)
        // In two steps: in one, the text would be looked up in the outcomes before the reason was added.
        let reason = AnswerBody(body).reason(in: body, keeping: &words)
        return (reason, words.text(of: reason))
    }

    private struct Scanner {
        var offset: Int
        let end: Int

        mutating func skip(_ byte: UInt8, in body: RawSpan) -> Bool {
            skipSpace(in: body)
            guard offset < end, body[byte: offset] == byte else { return false }
            offset += 1
            return true
        }

        /// The range of a string, without its quotation marks and with its escapes.
        mutating func string(in body: RawSpan) -> Range<Int>? {
            guard skip(UInt8(ascii: "\""), in: body) else { return nil }
            let start = offset
            while offset < end {
                switch body[byte: offset] {
                case UInt8(ascii: "\""):
                    offset += 1
                    return start..<offset - 1
                case UInt8(ascii: "\\"): offset += 2
                default: offset += 1
                }
            }
            return nil
        }

        /// The range of a number, or of a word such as `null`.
        mutating func token(in body: RawSpan) -> Range<Int>? {
            skipSpace(in: body)
            let start = offset
            while offset < end, Self.isPartOfToken(body[byte: offset]) { offset += 1 }
            return start == offset ? nil : start..<offset
        }

        private mutating func skipSpace(in body: RawSpan) {
            while offset < end, [0x20, 0x09, 0x0a, 0x0d].contains(body[byte: offset]) { offset += 1 }
        }

        private static func isPartOfToken(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: byte.isLetterOrDigit
            }
        }
    }
}

extension RawSpan {
    fileprivate func holds(_ text: String, at range: Range<Int>) -> Bool {
        range.count == text.utf8.count && zip(range, text.utf8).allSatisfy { self[byte: $0.0] == $0.1 }
    }

    /// A whole number of at most 15 digits.
    fileprivate func wholeNumber(at range: Range<Int>) -> Int64? {
        guard range.count <= 15 else { return nil }
        var number: Int64 = 0
        for offset in range {
            let digit = Int64(self[byte: offset]) - 48
            guard (0...9).contains(digit) else { return nil }
            number = number * 10 + digit
        }
        return number
    }
}

extension Reason {
    private static let spellings: [[UInt8]] = table.map { Array($0.name.utf8) }

    /// The reason of the table with that name.
    fileprivate init?(spelled body: RawSpan, at range: Range<Int>) {
        for (index, spelling) in Self.spellings.enumerated().dropFirst(3) where spelling.count == range.count {
            var offset = 0
            while offset < spelling.count, spelling[offset] == body[byte: range.lowerBound + offset] { offset += 1 }
            if offset == spelling.count {
                self.init(index: UInt16(index))
                return
            }
        }
        return nil
    }
}
