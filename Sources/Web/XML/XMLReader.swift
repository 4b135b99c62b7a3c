/// Reads the elements and texts of an untrusted document. Attributes and comments are skipped. A document type or a processing
/// instruction is refused, so there are no entities to expand.
///
/// Expat gets the document at once and halts when some events wait here: memory is bounded by the length of the document, however
/// many elements it has.
package struct XMLReader: ~Copyable {
    package enum Event: Equatable, Sendable {
        case start(String)
        case end
        /// A text may come in several pieces.
        case text(String)
        case over
    }

    package static let deepest = 256
    package static let longestName = 64

    /// What clients call the encodings that expat knows by the names of XML only.
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
