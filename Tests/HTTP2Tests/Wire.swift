import HTTP2
import Testing

/// A client session, with what a test wants to know of it gathered: how every tag ended.
final class TestClient {
    let session: ClientSession
    var fields: FieldsID
    var submissions: [UInt32: Submission] = [:]
    var answers: [UInt32: Answer] = [:]
    var bodies: [UInt32: String] = [:]
    var ids: [UInt32: String] = [:]
    var endings: [UInt32: Ending] = [:]
    var goAways: [GoAway] = []
    var pongs: [UInt64] = []
    var settingsChanges = 0
    var acknowledgements = 0
    /// Tags that ended, one entry an event: a tag that is here twice was reported twice.
    var ended: [UInt32] = []
    /// Tags that were told of as written late.
    var written: [UInt32] = []

    init(_ settings: LocalSettings = LocalSettings()) throws {
        self.session = try ClientSession(settings)
        var block = HeaderBlock(method: "POST", authority: "localhost", path: "/3/device/")
        block.append("apns-topic", "com.example.app")
        block.append("apns-push-type", "alert")
        block.append("apns-expiration", "0", indexing: .never)
        block.appendVarying("apns-id")
        self.fields = try self.session.addFields(block)
    }

    /// Submits a push whose token and payload tell its tag.
    func push(_ tag: UInt32, body: BodyID? = nil, payload: String? = nil) throws {
        let token = Array("token\(tag)".utf8)
        let id = Array("id-\(tag)".utf8)
        let content = Array((payload ?? "payload \(tag)").utf8)
        let body = body ?? self.session.addBody(content.span.bytes)
        defer { self.session.release(body) }
        self.submissions[tag] = try self.session.submit(
            self.fields,
            pathSuffix: token.span.bytes,
            varying: id.span.bytes,
            body: body,
            tag: tag
        )
    }

    func drain(limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try self.session.drain(into: &bytes, limit: limit)
        self.readEvents()
        return bytes
    }

    func feed(_ bytes: [UInt8]) throws {
        defer { self.readEvents() }
        try self.session.feed(bytes.span.bytes)
    }

    func sweep(bytesWritten: UInt64 = .max) {
        self.session.sweep(bytesWritten: bytesWritten)
        self.readEvents()
    }

    func readEvents() {
        while let event = self.session.nextEvent() {
            switch event {
            case .settingsChanged: self.settingsChanges += 1
            case .settingsAcknowledged: self.acknowledgements += 1
            case .written(let tag): self.written.append(tag)
            case .answered(let tag, let answer):
                self.ended.append(tag)
                self.answers[tag] = answer
                self.bodies[tag] = self.session.withBody(of: answer) { text($0) }
                self.ids[tag] = self.session.withField(0, of: answer) { text($0) }
            case .ended(let tag, let ending):
                self.ended.append(tag)
                self.endings[tag] = ending
            case .goAway(let goAway): self.goAways.append(goAway)
            case .pong(let value): self.pongs.append(value)
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
        self.session = try ServerSession(settings)
    }

    func feed(_ bytes: [UInt8]) throws {
        defer { self.readEvents() }
        try self.session.feed(bytes.span.bytes)
    }

    func drain(limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try self.session.drain(into: &bytes, limit: limit)
        self.readEvents()
        return bytes
    }

    func readEvents() {
        while let event = self.session.nextEvent() {
            switch event {
            case .request(let request): self.handle(request)
            case .closed(let stream, let code): self.closed[stream] = code
            case .settingsAcknowledged: self.acknowledgements += 1
            case .goAway(let code): self.goAways.append(code)
            case .pong, .refused, .abandoned: break
            }
        }
    }

    private func handle(_ request: Request) {
        let received = self.session.withRequest(request) { bytes, fields in
            Received(
                stream: request.stream,
                fields: fields.indices.map {
                    text(bytes.extracting(fields[$0].name.bounds)) + "="
                        + text(bytes.extracting(fields[$0].value.bounds))
                },
                body: text(bytes.extracting(request.body.bounds))
            )
        }
        self.received.append(received)
        guard let (status, body) = self.answer(received) else { return }
        self.respond(to: received, status, body)
    }

    func respond(to request: Received, _ status: UInt16, _ body: String) {
        var block = HeaderBlock(status: status)
        if let id = request.fields.first(where: { $0.hasPrefix("apns-id=") }) {
            block.append("apns-id", String(id.dropFirst(8)), indexing: .never)
        }
        if status == 429 { block.append("retry-after", "17") }
        let bytes = Array(body.utf8)
        #expect(throws: Never.self) {
            try self.session.respond(to: request.stream, block, body: bytes.span.bytes)
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
