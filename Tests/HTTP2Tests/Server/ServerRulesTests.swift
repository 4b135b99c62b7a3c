import CarillonHTTP2
import TestSupport
import Testing

/// The server is as strict as Apple's.
@Suite struct ServerRulesTests {
    @Test(arguments: [
        ("a late pseudo header", [("apns-topic", "x"), (":path", "/")]),
        ("two paths", [(":path", "/")]),
        ("an unknown pseudo header", [(":token", "x")]),
        ("an upper-case name", [("Apns-Topic", "x")]),
        ("a connection header", [("connection", "keep-alive")]),
        ("an empty name", [("", "x")]),
        ("a control character", [("apns-topic", "a\u{1}b")]),
        ("a length that is not the body's", [("content-length", "3")]),
    ])
    func `a malformed request is reset and not delivered`(_ fault: String, _ extra: [(String, String)]) throws {
        let server = try ServerEnd.greeted()
        try server.feed(FrameBytes.headers(1, ServerEnd.good + extra) + FrameBytes.data(1, [1], end: true))
        let bytes = try server.drain()
        #expect(server.received.isEmpty)
        #expect(bytes.starts(with: FrameBytes.reset(1, ErrorCode.protocolError.rawValue)))
        #expect(server.session.openStreams == 0)
        try server.feed(FrameBytes.headers(3, ServerEnd.good, end: true))
        #expect(server.received.count == 1, "other streams do not suffer")
    }

    @Test(arguments: [":method", ":scheme", ":path"])
    func `a request without a pseudo header is reset`(name: String) throws {
        let server = try ServerEnd.greeted()
        try server.feed(FrameBytes.headers(1, ServerEnd.good.filter { $0.0 != name }, end: true))
        let bytes = try server.drain()
        #expect(bytes.starts(with: FrameBytes.reset(1, ErrorCode.protocolError.rawValue)))
        #expect(server.received.isEmpty && server.session.openStreams == 0)
    }

    @Test func `fields sent twice are both delivered`() throws {
        let server = try ServerEnd.greeted()
        try server.feed(FrameBytes.headers(1, ServerEnd.good + [("apns-topic", "a"), ("apns-topic", "b")], end: true))
        #expect(server.received.first?.fields.suffix(2) == ["apns-topic=a", "apns-topic=b"])
    }

    @Test func `a peer that does not speak HTTP/2 has a code of its own`() throws {
        let server = try ServerEnd()
        let error = #expect(throws: HTTP2Error.self) { try server.feed(Array("GET / HTTP/1.1\r\n\r\n".utf8)) }
        #expect(error?.code == .protocolViolation && server.session.isFinished)
    }

    @Test func `more streams than allowed are a broken protocol once the peer knows`() throws {
        let server = try ServerEnd(
            {
                var settings = ServerSettings()
                settings.maxConcurrentStreams = 1
                return settings
            }()
        )
        server.answer = { _ in nil }
        try server.feed(FrameBytes.preface + FrameBytes.settings())
        _ = try server.drain()
        try server.feed(
            FrameBytes.headers(1, ServerEnd.good, end: true) + FrameBytes.headers(3, ServerEnd.good, end: true)
        )
        let early = try server.drain()
        #expect(early == FrameBytes.reset(3, ErrorCode.refusedStream.rawValue), "it may not know yet")
        try server.feed(FrameBytes.settingsAcknowledgement + FrameBytes.headers(5, ServerEnd.good, end: true))
        _ = try server.drain()
        #expect(server.session.isFinished && server.received.count == 1)
    }

    @Test func `a request with too many fields is marked`() throws {
        let server = try ServerEnd.greeted()
        let bytes = FrameBytes.headers(1, ServerEnd.good + (0..<100).map { ("x-\($0)", "y") }, end: true)
        try server.session.feed(bytes.span.bytes)
        guard case .request(let request) = server.session.nextEvent() else {
            Issue.record("no request")
            return
        }
        #expect(request.hasTooManyFields)
        let count = server.session.withRequest(request) { _, fields in fields.count }
        #expect(count == 64)
    }

    @Test func `a request that is reset while it waits is gone, and one that is incomplete is abandoned`() throws {
        let server = try ServerEnd.greeted()
        server.answer = { _ in nil }
        let bytes =
            FrameBytes.headers(1, ServerEnd.good, end: true) + FrameBytes.reset(1, 8)
            + FrameBytes.headers(3, ServerEnd.good)
            + FrameBytes.reset(3, 8)
        try server.feed(bytes)
        #expect(server.received.map(\.stream) == [1])
        #expect(server.gone == [1] && server.abandoned == [3: .cancel])
        #expect(server.session.openStreams == 0)
        try server.feed(
            FrameBytes.headers(5, ServerEnd.good, end: true) + FrameBytes.headers(7, ServerEnd.good, end: true)
        )
        #expect(server.received.map(\.stream) == [1, 5, 7])
    }
}
