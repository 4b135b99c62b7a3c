import CarillonIO
import Testing

@testable import CarillonHTTP2

/// A client session, with what a test wants to know of it gathered: how every tag ended.
final class TestClient {
    let session: ClientSession
    var fields: ClientSession.FieldsID
    var submissions: [UInt32: ClientSession.Submission] = [:]
    var answers: [UInt32: HTTP2Response] = [:]
    var bodies: [UInt32: String] = [:]
    var ids: [UInt32: String] = [:]
    var endings: [UInt32: StreamEnding] = [:]
    var goAways: [ClientEvent.GoAway] = []
    var pongs: [UInt64] = []
    var settingsChanges = 0
    var acknowledgements = 0
    /// Tags that ended, one entry an event: a tag that is here twice was reported twice.
    var ended: [UInt32] = []
    /// Tags that were told of as written late.
    var written: [UInt32] = []
    var bytesDrained: UInt64 = 0

    /// Header blocks and bodies kept now.
    var sharedBlocks: Int { session.streams.pointee.shared.count }

    init(_ settings: ClientSettings = ClientSettings()) throws {
        var settings = settings
        settings.keptFields = ["apns-id"]
        session = try ClientSession(settings)
        var block = HeaderBlock(method: "POST", authority: "localhost", path: "/3/device/")
        block.append("apns-topic", "com.example.app")
        block.append("apns-push-type", "alert")
        block.append("apns-expiration", "0", indexing: .never)
        block.appendVarying("apns-id")
        fields = try session.addFields(block)
    }

    /// Submits a push whose token and payload tell its tag.
    func push(_ tag: UInt32, body: ClientSession.BodyID? = nil, payload: String? = nil) throws {
        let token = Array("token\(tag)".utf8)
        let id = Array("id-\(tag)".utf8)
        let content = Array((payload ?? "payload \(tag)").utf8)
        let body = body ?? session.addBody(content.span.bytes)
        defer { session.release(body) }
        submissions[tag] = try session.submit(
            fields,
            pathSuffix: token.span.bytes,
            varying: id.span.bytes,
            body: body,
            tag: tag
        )
    }

    func drain(limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try session.drain(into: &bytes, limit: limit)
        bytesDrained += UInt64(bytes.count)
        readEvents()
        return bytes
    }

    func feed(_ bytes: [UInt8]) throws {
        defer { readEvents() }
        try session.feed(bytes.span.bytes)
    }

    func end(bytesWritten: UInt64 = .max) {
        session.end(bytesWritten: bytesWritten)
        readEvents()
    }

    func readEvents() {
        while let event = session.nextEvent() {
            switch event {
            case .settingsChanged: settingsChanges += 1
            case .settingsAcknowledged: acknowledgements += 1
            case .written(let tag): written.append(tag)
            case .begun: break
            case .answered(let tag, let answer):
                ended.append(tag)
                answers[tag] = answer
                bodies[tag] = session.withBody(of: answer) { text($0) }
                ids[tag] = session.withField(0, of: answer) { text($0) }
            case .ended(let tag, let ending):
                ended.append(tag)
                endings[tag] = ending
            case .goAway(let goAway): goAways.append(goAway)
            case .pong(let value): pongs.append(value)
            }
        }
    }
}

/// A server session that answers as it is told.
final class TestServer {
    struct Received: Equatable {
        var stream: Int32
        var fields: [String]
        var body: String
    }

    let session: ServerSession
    var received: [Received] = []
    var closed: [Int32: ErrorCode] = [:]
    var acknowledgements = 0
    var goAways: [ErrorCode] = []
    /// What comes back for a request, or nothing.
    var answer: (Received) -> (status: UInt16, body: String)? = { _ in (200, "") }

    init(_ settings: ServerSettings = ServerSettings()) throws {
        session = try ServerSession(settings)
    }

    func feed(_ bytes: [UInt8]) throws {
        defer { readEvents() }
        try session.feed(bytes.span.bytes)
    }

    func drain(limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try session.drain(into: &bytes, limit: limit)
        readEvents()
        return bytes
    }

    func readEvents() {
        while let event = session.nextEvent() {
            switch event {
            case .request(let request): handle(request)
            case .closed(let stream, let code): closed[stream] = code
            case .settingsAcknowledged: acknowledgements += 1
            case .goAway(let code): goAways.append(code)
            case .refused, .abandoned: break
            }
        }
    }

    private func handle(_ request: HTTP2Request) {
        let received = session.withRequest(request) { bytes, fields in
            Received(
                stream: request.stream,
                fields: fields.indices.map {
                    text(bytes.extracting(fields[$0].name.range)) + "="
                        + text(bytes.extracting(fields[$0].value.range))
                },
                body: text(bytes.extracting(request.body.range))
            )
        }
        self.received.append(received)
        guard let (status, body) = answer(received) else { return }
        respond(to: received, status, body)
    }

    func respond(to request: Received, _ status: UInt16, _ body: String) {
        var block = HeaderBlock(status: status)
        if let id = request.fields.first(where: { $0.hasPrefix("apns-id=") }) {
            block.append("apns-id", String(id.dropFirst(8)), indexing: .never)
        }
        if status == 429 { block.append("retry-after", "17") }
        let bytes = Array(body.utf8)
        #expect(throws: Never.self) {
            try session.respond(to: request.stream, block, body: bytes.span.bytes)
        }
    }
}

func text(_ bytes: RawSpan) -> String {
    bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
}

/// Hands bytes across until neither side has more, whole or byte by byte.
func exchange(_ client: TestClient, _ server: TestServer, byteByByte: Bool = false) throws {
    while true {
        let there = try client.drain()
        for piece in byteByByte ? there.map({ [$0] }) : [there] { try server.feed(piece) }
        let back = try server.drain()
        for piece in byteByByte ? back.map({ [$0] }) : [back] { try client.feed(piece) }
        if there.isEmpty, back.isEmpty { return }
    }
}
