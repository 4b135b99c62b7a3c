/// Reads the part of XML that XML-RPC uses: elements, text, character references and CDATA. Attributes, comments and the
/// declaration are skipped. A document type or any other instruction is an error, so there are no entities to expand.
///
/// Every step consumes input, and the depth of elements is limited, so time and memory are bounded by the input's length.
struct XMLReader {
    enum Event: Equatable {
        case start(String)
        /// Of the innermost open element: its name was compared.
        case end
        case text(String)
        case over
    }

    static let deepest = 256
    private static let longestName = 64

    private let bytes: [UInt8]
    private(set) var place = 0
    private var open: [String] = []
    private var hasRoot = false
    /// An empty-element tag was read, whose end comes next.
    private var endsAtOnce = false

    init(_ bytes: [UInt8]) throws(XMLError) { self.bytes = try XMLEncoding.utf8(bytes) }

    mutating func next() throws(XMLError) -> Event {
        if endsAtOnce {
            endsAtOnce = false
            open.removeLast()
            return .end
        }
        while place < bytes.count {
            if bytes[place] != UInt8(ascii: "<") {
                let text = try text()
                if !open.isEmpty { return .text(text) }
                guard text.allSatisfy(\.isWhitespace) else { throw error("text outside of the root element") }
            } else if takes("<!--") {
                let comment = try upTo("-->", in: "a comment")
                if contains("--", in: comment) { throw error("a comment with --") }
            } else if takes("<![CDATA[") {
                guard !open.isEmpty else { throw error("text outside of the root element") }
                return .text(String(decoding: Self.lines(bytes[try upTo("]]>", in: "CDATA")]), as: UTF8.self))
            } else if place == 0, takes("<?xml") {
                _ = try upTo("?>", in: "the declaration")
            } else if takes("</") {
                return try endTag()
            } else {
                return try startTag()
            }
        }
        guard hasRoot, open.isEmpty else { throw error("it ends early") }
        return .over
    }

    // MARK: Tags

    private mutating func startTag() throws(XMLError) -> Event {
        place += 1
        if place < bytes.count, bytes[place] == UInt8(ascii: "!") || bytes[place] == UInt8(ascii: "?") {
            throw error("a document type or an instruction, which a call does not have")
        }
        guard !open.isEmpty || !hasRoot else { throw error("a second root element") }
        guard open.count < Self.deepest else { throw error("more than \(Self.deepest) elements inside each other") }
        let name = try name()
        while true {
            let hasSpace = skipSpace()
            if takes("/>") {
                endsAtOnce = true
                break
            }
            if takes(">") { break }
            guard hasSpace else { throw error("a tag that is not closed") }
            try attribute()
        }
        hasRoot = true
        open.append(name)
        return .start(name)
    }

    private mutating func endTag() throws(XMLError) -> Event {
        let name = try name()
        skipSpace()
        guard takes(">") else { throw error("a tag that is not closed") }
        guard open.popLast() == name else { throw error("</\(name)> where another element is open") }
        return .end
    }

    private mutating func attribute() throws(XMLError) {
        _ = try name()
        skipSpace()
        guard takes("=") else { throw error("an attribute without a value") }
        skipSpace()
        guard place < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[place]) else {
            throw error("an attribute without quotes")
        }
        let quote = bytes[place]
        place += 1
        while place < bytes.count, bytes[place] != quote, bytes[place] != UInt8(ascii: "<") { place += 1 }
        guard place < bytes.count, bytes[place] == quote else { throw error("an attribute that does not end") }
        place += 1
    }

    private mutating func name() throws(XMLError) -> String {
        let start = place
        while place < bytes.count, Self.isOfName(bytes[place], isFirst: place == start) { place += 1 }
        guard place > start, place - start <= Self.longestName else { throw error("a tag without a proper name") }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private static func isOfName(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"): !isFirst
        default: false
        }
    }

    // MARK: Text

    private mutating func text() throws(XMLError) -> String {
        var text: [UInt8] = []
        while place < bytes.count, bytes[place] != UInt8(ascii: "<") {
            let start = place
            while place < bytes.count, bytes[place] != UInt8(ascii: "<"), bytes[place] != UInt8(ascii: "&") {
                place += 1
            }
            if contains("]]>", in: start..<place) { throw error("]]> outside of CDATA") }
            text += Self.lines(bytes[start..<place])
            if place < bytes.count, bytes[place] == UInt8(ascii: "&") { text += try reference() }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// XML gives the application line feeds for all line breaks (XML 1.0, 2.11).
    private static func lines(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard bytes.contains(13) else { return bytes }
        var lines: ArraySlice<UInt8> = []
        var isAfterReturn = false
        for byte in bytes {
            if byte != 10 || !isAfterReturn { lines.append(byte == 13 ? 10 : byte) }
            isAfterReturn = byte == 13
        }
        return lines
    }

    private static let named: [String: UInt8] = [
        "amp": UInt8(ascii: "&"), "lt": UInt8(ascii: "<"), "gt": UInt8(ascii: ">"), "quot": UInt8(ascii: "\""),
        "apos": UInt8(ascii: "'"),
    ]

    private mutating func reference() throws(XMLError) -> [UInt8] {
        place += 1
        // The longest is &#x0010FFFF;
        let rest = bytes[place..<min(place + 12, bytes.count)]
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { throw error("an & that begins no reference") }
        let name = String(decoding: rest[..<end], as: UTF8.self)
        if let byte = Self.named[name] {
            place = end + 1
            return [byte]
        }
        let digits = name.hasPrefix("#x") ? name.dropFirst(2) : name.dropFirst()
        guard name.hasPrefix("#"), digits.allSatisfy(\.isHexDigit),
            let number = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), let scalar = Unicode.Scalar(number),
            number >= 32 || [9, 10, 13].contains(number)
        else { throw error("the reference &\(name);, which is not known here") }
        place = end + 1
        return Array(String(scalar).utf8)
    }

    // MARK: Bytes

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = place
        while place < bytes.count, [9, 10, 13, 32].contains(bytes[place]) { place += 1 }
        return place > start
    }

    private mutating func takes(_ text: StaticString) -> Bool {
        guard bytes.count - place >= text.utf8CodeUnitCount else { return false }
        for (offset, byte) in text.bytes.enumerated() where bytes[place + offset] != byte { return false }
        place += text.utf8CodeUnitCount
        return true
    }

    /// The range before the end, which is passed.
    private mutating func upTo(_ end: StaticString, in what: String) throws(XMLError) -> Range<Int> {
        let start = place
        while place < bytes.count {
            let here = place
            if takes(end) { return start..<here }
            place += 1
        }
        throw error("\(what) does not end")
    }

    private func contains(_ text: StaticString, in range: Range<Int>) -> Bool {
        let text = text.bytes
        guard range.count >= text.count else { return false }
        return (range.lowerBound...range.upperBound - text.count).contains {
            bytes[$0..<$0 + text.count].elementsEqual(text)
        }
    }

    private func error(_ reason: String) -> XMLError { XMLError(reason: reason, place: place) }
}

extension StaticString {
    fileprivate var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}

/// Why a document cannot be read.
struct XMLError: Error, Equatable {
    let reason: String
    /// In bytes.
    let place: Int
}
