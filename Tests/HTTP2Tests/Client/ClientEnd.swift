import TestSupport

@testable import CarillonHTTP2

/// A client session, with what a test wants to know of it gathered: how every tag ended.
final class ClientEnd {
    let session: ClientSession
    var fields: ClientSession.FieldsID
    var submissions: [UInt32: ClientSession.Submission] = [:]
    var answers: [UInt32: HTTP2Response] = [:]
    var bodies: [UInt32: String] = [:]
    var ids: [UInt32: String] = [:]
    var endings: [UInt32: StreamEnding] = [:]
    var goAways: [ErrorCode] = []
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

    /// A client that has the server's settings, with `count` pushes written and none answered; stream 1 has tag 0, stream 3
    /// tag 1, and so on.
    static func inFlight(_ count: UInt32) throws -> ClientEnd {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings())
        for tag in 0..<count { try client.push(tag) }
        _ = try client.drain()
        return client
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
            case .goAway(let code): goAways.append(code)
            }
        }
    }
}
