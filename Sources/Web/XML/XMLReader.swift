/// Reads the elements and texts of an untrusted document. Attributes and comments are skipped. A document type or a processing
/// instruction is refused, so there are no entities to expand.
///
/// Expat gets the document in pieces and pauses when enough events are waiting: it needs little memory, however long the document is
/// and whatever it holds.
package struct XMLReader: ~Copyable {
    package enum Event: Equatable, Sendable {
        case start(String)
        case end
        /// A text may come in several pieces.
        case text(String)
        case over
    }

    static let deepest = 256
    static let longestName = 64
    /// In bytes, also of a comment. One that is somewhat longer may be accepted.
    static let longestTag = 64 * 1024

    /// Names that clients use for encodings that expat knows only by their XML names.
    private static let otherNames = [
        "utf8": "UTF-8", "ascii": "US-ASCII", "latin1": "ISO-8859-1", "latin-1": "ISO-8859-1",
    ]

    private let parse: ExpatParse
    /// Where the last event begins, in bytes.
    package private(set) var place = 0

    package init(_ document: [UInt8]) throws(XMLError) {
        let parse = try ExpatParse(document, encoding: nil)
        if let name = parse.unknownEncoding, let known = Self.otherNames[name] {
            self.parse = try ExpatParse(document, encoding: known)
        } else {
            self.parse = parse
        }
    }

    package mutating func next() throws(XMLError) -> Event {
        guard let (event, place) = try parse.next() else { return .over }
        self.place = place
        return event
    }
}
