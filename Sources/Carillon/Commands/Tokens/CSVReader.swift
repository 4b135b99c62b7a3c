/// Splits the bytes of a file into records as defined in RFC 4180. It holds no more than the bytes fed last and one record.
///
/// A line ends with LF or CR LF; a quoted field may contain line breaks. If a record is malformed, only its first line is refused,
/// and reading continues with the next line.
struct CSVReader {
    enum Step: Equatable {
        /// A record is ready.
        case record
        /// A line that is not a record.
        case refused(Refusal)
        /// Everything fed has been read.
        case hungry
    }

    struct Refusal: Equatable {
        let line: Int
        let reason: String
        /// The beginning of the line, unchanged.
        let text: String
    }

    private enum Cut {
        case whole(next: Int, lines: Int)
        case broken(String)
        case open(String)
    }

    /// The maximum length of a record.
    static let limit = 65_536

    private(set) var record = CSVRecord()
    private var separator = UInt8(ascii: ",")
    private var hasBegun = false
    private var buffer: [UInt8] = []
    /// Where the next record begins.
    private var place = 0
    private var line = 1
    private(set) var isComplete = false
    /// Skips the rest of a line that is too long.
    private var isSkipping = false

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let quote = UInt8(ascii: "\"")

    mutating func feed(_ bytes: ArraySlice<UInt8>) {
        buffer.removeFirst(place)
        place = 0
        buffer.append(contentsOf: bytes)
    }

    /// Ends the input: the last line may lack its line break.
    mutating func finish() { isComplete = true }

    /// The first bytes that were fed and not read yet.
    func begins(with bytes: [UInt8]) -> Bool { buffer[place...].starts(with: bytes) }

    /// Inspects the first line, which tells the format of the file. False if the line is not complete yet.
    /// - Parameter command: that reads the file, for the advice about one that is compressed.
    mutating func begin(for command: String) throws(CSVFileError) -> Bool {
        if hasBegun { return true }
        guard isComplete || hasLine else { return false }
        if begins(with: [0xEF, 0xBB, 0xBF]) { place += 3 }
        for (magic, kind, program) in Self.strangers where begins(with: magic) {
            let advice = program.map { "'\($0) FILE | carillon \(command) -' reads it." }
            throw CSVFileError("it is \(kind): \(advice ?? "save it as CSV, in UTF-8.")")
        }
        hasBegun = true
        return true
    }

    private static let strangers: [([UInt8], String, String?)] = [
        ([0xFF, 0xFE], "UTF-16", nil), ([0xFE, 0xFF], "UTF-16", nil), ([0x1F, 0x8B], "compressed", "zcat"),
        ([0x28, 0xB5, 0x2F, 0xFD], "compressed", "zstdcat"),
        (Array("PK\u{3}\u{4}".utf8), "a ZIP archive or a spreadsheet", nil),
    ]

    /// The first line with content determines the separator.
    mutating func chooseSeparator() {
        let line = upcomingLine
        separator = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")].first { line.contains($0) } ?? separator
    }

    /// The bytes of the next line, as far as they were fed.
    private var upcomingLine: ArraySlice<UInt8> { buffer[place...].prefix { $0 != Self.lineFeed } }

    /// Whether the next line is complete, or too long to wait for.
    private var hasLine: Bool { buffer.count - place > Self.limit || buffer[place...].contains(Self.lineFeed) }

    /// Skips the next line; false if its end was not fed yet.
    mutating func skipLine() -> Bool {
        guard let end = buffer[place...].firstIndex(of: Self.lineFeed) else {
            place = buffer.count
            isSkipping = true
            return false
        }
        place = end + 1
        line += 1
        isSkipping = false
        return true
    }

    /// Moves to the beginning of a line; false if it was not fed yet.
    mutating func skipRest() -> Bool { !isSkipping || skipLine() }

    mutating func next() -> Step {
        guard skipRest() else { return .hungry }
        guard place < buffer.count else { return .hungry }
        record.begin(line: line)
        switch cut() {
        case .whole(let next, let lines):
            place = next
            line += lines
            return .record
        case .broken(let reason):
            // The excerpt must not depend on how the bytes were split when they were fed.
            return hasLine || isComplete ? refuse(reason) : .hungry
        case .open(let reason):
            if buffer.count - place > Self.limit { return refuse(reason) }
            return isComplete ? refuse(reason) : .hungry
        }
    }

    /// Copies the fields of the record at `place`.
    private mutating func cut() -> Cut {
        let end = min(buffer.count, place + Self.limit + 1)
        let isLast = isComplete && end == buffer.count
        var at = place
        var lines = 1
        while true {
            if at < end, buffer[at] == Self.quote {
                guard let next = quoted(from: at + 1, to: end, &lines) else { return .open(Self.unclosed) }
                at = next
                let isBareReturn = at < end && buffer[at] == Self.carriageReturn
                if isBareReturn { at += 1 }
                if at == end, !isLast { return .open(Self.tooLong) }
                if at < end, buffer[at] != Self.lineFeed, isBareReturn || buffer[at] != separator {
                    return .broken("after a closing quote there is neither a separator nor the end of the line")
                }
            } else {
                let start = at
                while at < end, buffer[at] != separator, buffer[at] != Self.lineFeed { at += 1 }
                if at == end, !isLast { return .open(Self.tooLong) }
                let isLastField = at == end || buffer[at] == Self.lineFeed
                let hasReturn = isLastField && at > start && buffer[at - 1] == Self.carriageReturn
                record.append(buffer[start..<(hasReturn ? at - 1 : at)])
            }
            record.endField()
            if at == end { return .whole(next: at, lines: lines) }
            at += 1
            if buffer[at - 1] == Self.lineFeed { return .whole(next: at, lines: lines) }
        }
    }

    /// Copies the text before the closing quote, and returns the byte after it; nil if there is no closing quote.
    private mutating func quoted(from start: Int, to end: Int, _ lines: inout Int) -> Int? {
        var start = start
        var at = start
        while at < end {
            if buffer[at] == Self.lineFeed { lines += 1 }
            guard buffer[at] == Self.quote else {
                at += 1
                continue
            }
            record.append(buffer[start..<at])
            // The next byte tells an escaped quote from a closing one.
            guard at + 1 < end else { return isComplete && end == buffer.count ? end : nil }
            guard buffer[at + 1] == Self.quote else { return at + 1 }
            start = at + 1
            at += 2
        }
        return nil
    }

    private static let unclosed = "a quote is opened and never closed"
    private static let tooLong = "the line is longer than \(limit) bytes"

    /// Skips the first line of the record.
    private mutating func refuse(_ reason: String) -> Step {
        let refusal = Refusal(
            line: line,
            reason: reason,
            text: String(decoding: upcomingLine.prefix(1_000), as: UTF8.self)
        )
        _ = skipLine()
        return .refused(refusal)
    }
}
