import CarillonCExpat

/// One document being parsed by expat. Its callbacks run during `init` and `next`, on their thread.
final class ExpatParse {
    /// Expat pauses at this many events, and resumes when they have been read.
    private static let maxEvents = 256
    /// Expat copies what it gets, and keeps of it what it cannot read yet.
    private static let pieceBytes = 16 * 1024
    /// A tag or a comment is kept until its end has come, and expat may wait until twice as much has come.
    private static let maxSilence = 4 * XMLReader.longestTag
    /// Expat keeps the name of each attribute.
    private static let maxAttributes = 1000

    private let parser: XML_Parser
    private let document: [UInt8]
    /// How many bytes of the document expat has got.
    private var fed = 0
    /// How many it had got when it last reported something.
    private var fedAtLastEvent = 0
    private var isFed = false
    private var attributes = 0
    private var status = XML_STATUS_OK
    private var events: [(XMLReader.Event, place: Int)] = []
    private var read = 0
    private var depth = 0
    private var refusal: String?
    /// In lower case.
    private(set) var unknownEncoding: String?

    init(_ document: [UInt8], encoding: String?) throws(XMLError) {
        guard let parser = XML_ParserCreate(encoding) else {
            throw XMLError(reason: "there is no memory for it", place: 0)
        }
        self.parser = parser
        self.document = document
        let this = Unmanaged.passUnretained(self).toOpaque()
        XML_SetUserData(parser, this)
        XML_SetElementHandler(
            parser,
            { this, name, attributes in
                // The name and the value of each, and nil.
                var count = 0
                while let attributes, attributes[2 * count] != nil { count += 1 }
                ExpatParse.of(this).started(name.map { String(cString: $0) } ?? "", attributes: count)
            },
            { this, _ in ExpatParse.of(this).ended() }
        )
        XML_SetCharacterDataHandler(parser) { this, text, count in
            let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
            ExpatParse.of(this).add(.text(String(decoding: bytes, as: UTF8.self)))
        }
        XML_SetStartDoctypeDeclHandler(parser) { this, _, _, _, _ in ExpatParse.of(this).refuse(ExpatParse.stranger) }
        XML_SetProcessingInstructionHandler(parser) { this, _, _ in ExpatParse.of(this).refuse(ExpatParse.stranger) }
        XML_SetUnknownEncodingHandler(
            parser,
            { this, name, _ in
                ExpatParse.of(this).unknownEncoding = name.map { String(cString: $0).lowercased() }
                return 0  // not known here either
            },
            this
        )
        feed()
    }

    deinit { XML_ParserFree(parser) }

    /// Nil at the end of the document.
    func next() throws(XMLError) -> (XMLReader.Event, place: Int)? {
        while read == events.count {
            switch status {
            case XML_STATUS_OK:
                if isFed { return nil }
                events.removeAll(keepingCapacity: true)
                read = 0
                feed()
            case XML_STATUS_SUSPENDED:
                events.removeAll(keepingCapacity: true)
                read = 0
                status = XML_ResumeParser(parser)
            default: throw XMLError(reason: reason, place: place)
            }
        }
        defer { read += 1 }
        return events[read]
    }

    private func feed() {
        guard fed - fedAtLastEvent <= Self.maxSilence else {
            refusal = "a tag or a comment of more than \(XMLReader.longestTag) bytes"
            status = XML_STATUS_ERROR
            return
        }
        let piece = document[fed...].prefix(Self.pieceBytes)
        fed += piece.count
        isFed = fed == document.count
        status = piece.withUnsafeBytes { XML_Parse(parser, $0.baseAddress, CInt($0.count), isFed ? 1 : 0) }
    }

    private var reason: String {
        if let refusal { return refusal }
        if let unknownEncoding { return "the encoding \(unknownEncoding.prefix(40)): send UTF-8" }
        return String(cString: XML_ErrorString(XML_GetErrorCode(parser)))
    }

    private var place: Int { max(0, Int(XML_GetCurrentByteIndex(parser))) }

    // MARK: Callbacks

    private static let stranger = "a document type or an instruction, which is not accepted"

    private static func of(_ this: UnsafeMutableRawPointer?) -> ExpatParse {
        Unmanaged<ExpatParse>.fromOpaque(this!).takeUnretainedValue()
    }

    private func started(_ name: String, attributes count: Int) {
        depth += 1
        attributes += count
        if attributes > Self.maxAttributes { refuse("more than \(Self.maxAttributes) attributes") }
        if depth > XMLReader.deepest { refuse("more than \(XMLReader.deepest) levels of nested elements") }
        if name.utf8.count > XMLReader.longestName { refuse("a name of more than \(XMLReader.longestName) bytes") }
        add(.start(name))
    }

    private func ended() {
        depth -= 1
        add(.end)
    }

    /// Expat may report more events after it was told to stop.
    private func add(_ event: XMLReader.Event) {
        guard refusal == nil else { return }
        fedAtLastEvent = fed
        events.append((event, place))
        if events.count >= Self.maxEvents { XML_StopParser(parser, XML_Bool(XML_TRUE)) }
    }

    private func refuse(_ reason: String) {
        if refusal == nil { refusal = reason }
        XML_StopParser(parser, XML_Bool(XML_FALSE))
    }
}
