import CarillonHTTP2
import TestSupport
import Testing

/// Bytes that no polite server sends. Whatever comes, every tag ends once, and nothing grows.
@Suite struct HostilePeerTests {
    /// What a peer may send that has two pushes in flight, on streams 1 and 3.
    static let connectionErrors: [(name: String, bytes: [UInt8])] = [
        ("DATA on a stream never opened", FrameBytes.data(9, [1], end: true)),
        ("DATA before HEADERS", FrameBytes.data(1, [1], end: true)),
        ("DATA on stream 0", FrameBytes.data(0, [1])),
        ("HEADERS on stream 0", FrameBytes.headers(0, [(":status", "200")], end: true)),
        ("HEADERS on an even stream", FrameBytes.headers(2, [(":status", "200")], end: true)),
        ("RST_STREAM on a stream never opened", FrameBytes.reset(9, 0)),
        ("RST_STREAM of three bytes", FrameBytes.frame(3, stream: 1, [0, 0, 0])),
        ("SETTINGS of five bytes", FrameBytes.frame(4, stream: 0, [0, 3, 0, 0, 0])),
        ("SETTINGS on a stream", FrameBytes.frame(4, stream: 1)),
        ("SETTINGS with a bad frame size", FrameBytes.settings([(5, 1)])),
        ("SETTINGS with a bad window", FrameBytes.settings([(4, 1 << 31)])),
        ("SETTINGS with ENABLE_PUSH", FrameBytes.settings([(2, 7)])),
        ("SETTINGS of forty values", FrameBytes.settings((0..<40).map { _ in (3, 1) })),
        ("WINDOW_UPDATE that overflows", FrameBytes.windowUpdate(0, (1 << 31) - 1)),
        ("WINDOW_UPDATE of nothing", FrameBytes.windowUpdate(0, 0)),
        ("WINDOW_UPDATE of nothing for a stream", FrameBytes.windowUpdate(1, 0)),
        ("PING of seven bytes", FrameBytes.frame(6, stream: 0, [0, 0, 0, 0, 0, 0, 0])),
        ("GOAWAY of four bytes", FrameBytes.frame(7, stream: 0, [0, 0, 0, 1])),
        (
            "PUSH_PROMISE",
            FrameBytes.frame(5, flags: 4, stream: 1, [0, 0, 0, 2] + FrameBytes.block([(":method", "GET")]))
        ),
        ("CONTINUATION from nowhere", FrameBytes.frame(9, flags: 4, stream: 1, [])),
        ("a frame of 16,385 bytes", FrameBytes.data(1, [UInt8](repeating: 0, count: 16_385))),
        ("a header block cut by another frame", FrameBytes.frame(1, stream: 1, []) + FrameBytes.ping(1)),
        (
            "a header block that cannot be read",
            FrameBytes.frame(1, flags: 5, stream: 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
        ),
        ("an index beyond the table", FrameBytes.frame(1, flags: 5, stream: 1, [0xbf, 0x30])),
        ("HTTP/1.1", Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)),
    ]

    @Test(arguments: HostilePeerTests.connectionErrors.map(\.name))
    func `a broken protocol ends the session, and with it every push`(name: String) throws {
        let bytes = try #require(Self.connectionErrors.first { $0.name == name }?.bytes)
        let client = try ClientEnd.inFlight(2)
        try client.feed(FrameBytes.settingsAcknowledgement)
        try? client.feed(bytes)
        _ = try? client.drain()
        #expect(client.session.isFinished)
        #expect(client.session.failure != nil)
        client.end()
        #expect(client.ended.sorted() == [0, 1])
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [0: false, 1: false])
        #expect(client.session.freeStreams == 0)
    }

    @Test func `a peer that does not begin with SETTINGS has a code of its own`() throws {
        let client = try ClientEnd()
        try? client.feed(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        _ = try? client.drain()
        #expect(client.session.isFinished)
        #expect(client.session.failure?.code == .protocolViolation)
        #expect(client.session.failure?.message.contains("HTTP/2") == true)
    }

    /// Answers on stream 1 that are no answers; the push on stream 3 must not suffer.
    static let streamErrors: [(name: String, bytes: [UInt8])] = [
        (
            "a body shorter than announced",
            FrameBytes.headers(1, [(":status", "200"), ("content-length", "5")]) + FrameBytes.data(1, [1], end: true)
        ),
        ("no :status", FrameBytes.headers(1, [("apns-id", "x")], end: true)),
        ("two :status", FrameBytes.headers(1, [(":status", "200"), (":status", "200")], end: true)),
        ("a :status after others", FrameBytes.headers(1, [("apns-id", "x"), (":status", "200")], end: true)),
        ("a :status of two digits", FrameBytes.headers(1, [(":status", "20")], end: true)),
        ("a :status of letters", FrameBytes.headers(1, [(":status", "2xx")], end: true)),
        ("a :status of 000", FrameBytes.headers(1, [(":status", "000")], end: true)),
        ("a :status of 099", FrameBytes.headers(1, [(":status", "099")])),
        ("a :status of 101", FrameBytes.headers(1, [(":status", "101")])),
        ("an upper-case name", FrameBytes.headers(1, [(":status", "200"), ("Apns-Id", "x")], end: true)),
        ("a connection header", FrameBytes.headers(1, [(":status", "200"), ("connection", "close")], end: true)),
        ("an unknown pseudo header", FrameBytes.headers(1, [(":status", "200"), (":reason", "x")], end: true)),
        ("an interim answer that ends the stream", FrameBytes.headers(1, [(":status", "103")], end: true)),
        (
            "two final answers",
            FrameBytes.headers(1, [(":status", "200")]) + FrameBytes.headers(1, [(":status", "200")], end: true)
        ),
        (
            "trailers that do not end it",
            FrameBytes.headers(1, [(":status", "200")]) + FrameBytes.headers(1, [("a", "b")])
        ),
        ("WINDOW_UPDATE that overflows", FrameBytes.windowUpdate(1, (1 << 31) - 1)),
    ]

    @Test(arguments: HostilePeerTests.streamErrors.map(\.name))
    func `a broken answer is unknown for its stream only`(name: String) throws {
        let bytes = try #require(Self.streamErrors.first { $0.name == name }?.bytes)
        let client = try ClientEnd.inFlight(2)
        try client.feed(bytes)
        _ = try client.drain()
        try client.feed(FrameBytes.headers(3, [(":status", "200")], end: true))
        #expect(client.endings[0]?.isSurelyUnprocessed == false)
        #expect(client.endings[0]?.origin == .closed)
        #expect(client.answers[1]?.status == 200)
        #expect(client.ended.sorted() == [0, 1])
        #expect(!client.session.isFinished && client.session.openStreams == 0)
    }

    @Test func `trailers and a second end change nothing`() throws {
        let client = try ClientEnd.inFlight(1)
        try client.feed(
            FrameBytes.headers(1, [(":status", "400"), ("apns-id", "first")]) + FrameBytes.data(1, Array("body".utf8))
                + FrameBytes.headers(1, [("apns-id", "second")], end: true)
        )
        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true) + FrameBytes.data(1, [1], end: true))
        #expect(client.ended == [0] && client.answers[0]?.status == 400)
        #expect(client.ids[0] == "first" && client.bodies[0] == "body")
    }

    @Test func `a promise of a push is refused until the peer knows better`() throws {
        let client = try ClientEnd.inFlight(1)
        let promise = FrameBytes.frame(
            5,
            flags: 4,
            stream: 1,
            FrameBytes.number(2) + FrameBytes.block([(":method", "GET")])
        )
        try client.feed(promise)
        #expect(try client.drain() == FrameBytes.reset(2, ErrorCode.cancel.rawValue))
        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true))
        #expect(client.answers[0]?.status == 200)
    }

    @Test func `a few interim answers are passed over, many end the session`() throws {
        let interim = FrameBytes.headers(1, [(":status", "103"), ("apns-id", "early"), ("retry-after", "9")])
        let client = try ClientEnd.inFlight(1)
        for _ in 0..<8 { try client.feed(interim) }
        try client.feed(FrameBytes.headers(1, [(":status", "200"), ("apns-id", "late")], end: true))
        #expect(client.answers[0]?.status == 200 && client.ids[0] == "late")
        #expect(client.answers[0]?.retryAfter == nil)

        try client.push(1)
        _ = try client.drain()
        let flood = (0..<9).flatMap { _ in FrameBytes.headers(3, [(":status", "103")]) }
        let error = #expect(throws: HTTP2Error.self) { try client.feed(flood) }
        #expect(error?.code == .limitExceeded && client.session.isFinished)
        client.end()
        #expect(client.ended == [0, 1])
    }

    @Test func `too many header fields end the session, and the peer is told`() throws {
        let client = try ClientEnd.inFlight(1)
        try client.feed(FrameBytes.settingsAcknowledgement)
        let fields = [(":status", "200")] + (0..<64).map { ("x-\($0)", "y") }
        #expect(throws: HTTP2Error.self) { try client.feed(FrameBytes.headers(1, fields, end: true)) }
        #expect(try client.drain() == FrameBytes.goAway(last: 0, ErrorCode.enhanceYourCalm.rawValue))
        client.end()
        #expect(client.ended == [0])
    }

    @Test func `header fields that grow from nothing are stopped at the limit`() throws {
        let client = try ClientEnd.inFlight(1)
        // One entry of 4,000 bytes in the compression table, then one byte each time for another 4,000.
        let entry: [UInt8] = [0x40] + FrameBytes.string("x") + FrameBytes.string(String(repeating: "y", count: 4_000))
        let block = FrameBytes.block([(":status", "200")]) + entry
        let bomb = block + [UInt8](repeating: 0xbe, count: 10_000)
        let error = #expect(throws: HTTP2Error.self) { try client.feed(FrameBytes.frame(1, flags: 5, stream: 1, bomb)) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `a header block without end is stopped`() throws {
        let client = try ClientEnd.inFlight(1)
        try client.feed(FrameBytes.frame(1, stream: 1, FrameBytes.block([(":status", "200")])))
        var fed = 0
        while !client.session.isFinished, fed < 100 {
            try? client.feed(FrameBytes.frame(9, stream: 1, FrameBytes.block([("a", "b")])))
            _ = try? client.drain()
            fed += 1
        }
        #expect(fed < 70)
        client.end()
        #expect(client.ended == [0])
    }

    @Test func `floods of meaningless frames are counted`() throws {
        let client = try ClientEnd.inFlight(1)
        let before = client.session.framesReceived
        let unknown = FrameBytes.frame(0xbb, stream: 0, [1, 2, 3])
        let empty = FrameBytes.headers(1, [(":status", "200")]) + FrameBytes.data(1, []) + FrameBytes.windowUpdate(0, 1)
        for byte in unknown + empty + unknown { try client.feed([byte]) }
        #expect(client.session.framesReceived == before + 5)
        for _ in 0..<1_000 { try client.feed(unknown + FrameBytes.ping(1, acknowledgement: true)) }
        #expect(client.session.framesReceived == before + 2_005)
        #expect(client.ended.isEmpty && !client.session.isFinished)
    }

    @Test func `pings that we cannot answer end the session`() throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings())
        let flood = (0..<2_000).flatMap { _ in FrameBytes.ping(7) }
        let error = #expect(throws: HTTP2Error.self) { try client.feed(flood) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `an endless answer takes one page`() throws {
        let client = try ClientEnd.inFlight(1)
        try client.feed(FrameBytes.headers(1, [(":status", "200")]))
        for _ in 0..<3 { try client.feed(FrameBytes.data(1, [UInt8](repeating: 120, count: 16_384))) }
        #expect(client.ended == [0] && client.answers[0]?.isTruncated == true && client.bodies[0]?.count == 4_096)
        for _ in 0..<1_000 {
            try client.feed(FrameBytes.data(1, [UInt8](repeating: 120, count: 10_000)))
            _ = try client.drain()
        }
        #expect(client.ended == [0] && client.session.openStreams == 0)
    }
}
