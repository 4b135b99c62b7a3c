import CarillonHTTP2
import CarillonIO
import TestSupport
import Testing

/// A client against a server, in memory.
@Suite struct ExchangeTests {
    @Test(arguments: [false, true])
    func `a request reaches the server and its answer the client`(byteByByte: Bool) throws {
        let client = try ClientEnd()
        let server = try ServerEnd()
        server.answer = { $0.fields.contains("apns-id=id-8") ? (400, #"{"reason":"BadDeviceToken"}"#) : (200, "") }
        try exchange(client, server, byteByByte: byteByByte)
        try client.push(7)
        try client.push(8)
        try exchange(client, server, byteByByte: byteByByte)

        #expect(
            server.received.first
                == ServerEnd.Received(
                    stream: 1,
                    fields: [
                        ":method=POST", ":scheme=https", ":authority=localhost", ":path=/3/device/token7",
                        "apns-topic=com.example.app", "apns-push-type=alert", "apns-expiration=0", "apns-id=id-7",
                    ],
                    body: "payload 7"
                )
        )
        #expect(client.ended == [7, 8])
        #expect(client.answers[7]?.status == 200)
        #expect(client.ids == [7: "id-7", 8: "id-8"])
        #expect(client.bodies == [7: "", 8: #"{"reason":"BadDeviceToken"}"#])
        #expect(client.answers[8]?.isTruncated == false)
        #expect(client.session.openStreams == 0 && server.session.openStreams == 0)
        #expect(client.settingsChanges == 1 && client.acknowledgements == 1)
    }

    /// Apple asks providers for no PRIORITY frames. HEADERS may have a priority too, with the flag 0x20.
    @Test func `a client sends no priorities`() throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings())
        for tag in 0..<50 { try client.push(UInt32(tag)) }
        var bytes = try client.drain()[...].dropFirst(FrameBytes.preface.count)
        var types: Set<UInt8> = []
        while let (frame, count) = Frame.first(in: bytes) {
            types.insert(frame.type)
            #expect(!frame.isHeaders || frame.flags & 0x20 == 0)
            bytes = bytes.dropFirst(count)
        }
        #expect(bytes.isEmpty && types.isSuperset(of: [0, 1, 4]) && !types.contains(2))
    }

    @Test func `three thousand pushes share one body and end once each`() throws {
        let (client, server) = try connected()
        server.answer = { $0.stream % 7 == 0 ? (429, #"{"reason":"TooManyRequests"}"#) : (200, "") }
        let payload = [UInt8](repeating: UInt8(ascii: "x"), count: 4_096)
        var next: UInt32 = 0
        while next < 3_000 {
            let body = client.session.addBody(payload.span.bytes)
            for _ in 0..<min(client.session.freeStreams, 3_000 - Int(next)) {
                let id = Array("id-\(next)".utf8)
                try client.session.submit(
                    client.fields,
                    pathSuffix: id.span.bytes,
                    varying: id.span.bytes,
                    body: body,
                    tag: next
                )
                next += 1
            }
            client.session.release(body)
            try exchange(client, server)
        }
        #expect(server.received.count == 3_000)
        #expect(Set(server.received.map(\.body.utf8.count)) == [4_096])
        #expect(client.ended.sorted() == Array(0..<3_000))
        #expect(Set(client.answers.values.map(\.status)) == [200, 429])
        #expect(client.answers[3]?.retryAfter == 17 && client.answers[4]?.retryAfter == nil)
        #expect(client.sharedBlocks == 1, "only the header block is left")
    }

    @Test func `a released block or body cannot be submitted`() throws {
        let (client, server) = try connected()
        let bytes: [UInt8] = [1, 2, 3]
        let body = client.session.addBody(bytes.span.bytes)
        try client.push(1, body: body)
        #expect(throws: HTTP2Error.self) { try client.push(2, body: body) }
        client.session.release(client.fields)
        #expect(throws: HTTP2Error.self) { try client.push(3) }
        #expect(client.sharedBlocks == 2, "the push on its way still needs both")
        try exchange(client, server)
        #expect(client.ended == [1])
        #expect(server.received.first?.body == "\u{1}\u{2}\u{3}")
        #expect(client.sharedBlocks == 0)
    }

    @Test func `a request may have neither a body nor a varying field`() throws {
        let (client, server) = try connected()
        var block = HeaderBlock(method: "GET", authority: "localhost", path: "/1/apps/")
        block.appendVarying("apns-request-id")
        let fields = try client.session.addFields(block)
        let path = Array("com.example.app/channels".utf8)
        try client.session.submit(fields, pathSuffix: path.span.bytes, varying: RawSpan(), body: nil, tag: 1)
        try exchange(client, server)
        #expect(
            server.received.map(\.fields) == [
                [":method=GET", ":scheme=https", ":authority=localhost", ":path=/1/apps/com.example.app/channels"]
            ]
        )
        #expect(client.ended == [1])
    }

    @Test(arguments: ["a\r\nb", "a\u{0}b", " a", "a ", "\u{7f}"])
    func `a value that would break the header is refused`(value: String) throws {
        let client = try ClientEnd()
        var block = HeaderBlock(method: "POST", authority: "localhost", path: "/")
        block.append("apns-collapse-id", value)
        #expect(throws: HTTP2Error.self) { try client.session.addFields(block) }
    }

    @Test func `a long answer is cut at the limit and its stream reset`() throws {
        let (client, server) = try connected()
        server.answer = { $0.stream == 1 ? (200, String(repeating: "x", count: 100_000)) : (200, "fine") }
        try client.push(1)
        try client.push(2)
        try server.feed(client.drain())
        try client.feed(server.drain())
        let bytes = try client.drain()
        #expect(bytes.firstRange(of: FrameBytes.reset(1, ErrorCode.cancel.rawValue)) != nil)
        try server.feed(bytes)
        try exchange(client, server)
        #expect(client.ended.sorted() == [1, 2])
        #expect(client.answers[1]?.isTruncated == true)
        #expect(client.bodies[1]?.utf8.count == 4_096)
        #expect(client.bodies[2] == "fine")
        #expect(client.session.openStreams == 0 && server.session.openStreams == 0)
    }

    @Test func `a request above the limit is delivered with its length`() throws {
        let client = try ClientEnd()
        let server = try ServerEnd()
        var bodies: [[Int]] = []
        try exchange(client, server)
        try client.push(1, payload: String(repeating: "x", count: 9_000))
        let bytes = try client.drain()
        try server.session.feed(bytes.span.bytes)
        while let event = server.session.nextEvent() {
            guard case .request(let request) = event else { continue }
            bodies.append([Int(request.body.count), request.bodyCount])
            #expect(request.isBodyTooLarge)
        }
        #expect(bodies == [[5_120, 9_000]])
    }

    @Test func `windows never stall a thousand full payloads`() throws {
        let (client, server) = try connected()
        server.answer = { _ in (400, String(repeating: "y", count: 4_000)) }
        for tag in 0..<1_000 { try client.push(UInt32(tag), payload: String(repeating: "x", count: 4_096)) }
        try server.feed(client.drain())
        #expect(server.received.count == 1_000, "no window had to be opened first")
        let answers = try server.drain()
        try client.feed(answers)
        #expect(answers.count > 65_535)
        try exchange(client, server)
        #expect(client.ended.count == 1_000)
    }

    @Test func `a ping is answered, and a GOAWAY ends both sides`() throws {
        let (client, server) = try connected()
        try client.session.ping()
        let ping = try client.drain()
        #expect(ping == FrameBytes.ping(0))
        try server.feed(ping)
        let pong = try server.drain()
        #expect(pong == FrameBytes.ping(0, acknowledgement: true))
        try client.feed(pong)
        #expect(!client.session.isFinished)
        try client.session.goAway()
        #expect(throws: HTTP2Error.self) { try client.push(1) }
        let goAway = try client.drain()
        #expect(goAway == FrameBytes.goAway(last: 0))
        try server.feed(goAway)
        try exchange(client, server)
        #expect(client.session.isFinished && server.session.isFinished)
        #expect(client.session.failure == nil)
    }

    @Test func `draining stops after the frame that reaches the limit`() throws {
        let client = try ClientEnd.inFlight(0)
        for tag in 0..<10 { try client.push(UInt32(tag), payload: String(repeating: "x", count: 1_000)) }
        var pieces: [[UInt8]] = []
        repeat { pieces.append(try client.drain(limit: 2_000)) } while pieces.last?.isEmpty == false
        let sizes = pieces.map(\.count)
        #expect(sizes.max()! < 2_000 + 1_009)
        #expect(pieces.count > 4)
        #expect(client.bytesDrained > UInt64(sizes.reduce(0, +)))
    }
}
