import CarillonHTTP2
import TestSupport
import Testing

/// What the peer allows, while it changes its mind.
@Suite struct SettingsTests {
    @Test func `nothing may be submitted before the peer's settings came`() throws {
        let client = try ClientEnd()
        #expect(client.session.freeStreams == 0 && client.session.peerMaxStreams == 0)
        #expect(throws: HTTP2Error.self) { try client.push(1) }
        try client.feed(FrameBytes.settings([(3, 1)]))
        #expect(client.session.freeStreams == 1)
    }

    @Test func `our own limit holds where the peer has none`() throws {
        var settings = ClientSettings()
        settings.maxOpenStreams = 3
        let client = try ClientEnd(settings)
        try client.feed(FrameBytes.settings())
        #expect(client.session.peerMaxStreams == Int(UInt32.max))
        for tag: UInt32 in 0..<3 { try client.push(tag) }
        let error = #expect(throws: HTTP2Error.self) { try client.push(3) }
        #expect(error?.code == .noFreeStream)
        #expect(client.session.openStreams == 3)
    }

    @Test func `the limit of streams goes from a thousand to one to none and back`() throws {
        let (client, server) = try connected()
        server.answer = { _ in nil }
        for tag: UInt32 in 0..<5 { try client.push(tag) }
        try exchange(client, server)
        #expect(client.session.freeStreams == 995)

        for limit: UInt32 in [1, 0] {
            try server.session.allow(maxConcurrentStreams: limit)
            try exchange(client, server)
            #expect(client.session.peerMaxStreams == Int(limit) && client.session.freeStreams == 0)
            #expect(throws: HTTP2Error.self) { try client.push(100) }
        }
        for request in server.received { server.respond(to: request, 200, "") }
        try exchange(client, server)
        #expect(client.ended == [0, 1, 2, 3, 4])
        #expect(client.session.freeStreams == 0 && !client.session.isFinished)

        try server.session.allow(maxConcurrentStreams: 1_000)
        server.answer = { _ in (200, "") }
        try exchange(client, server)
        #expect(client.settingsChanges == 4 && client.session.freeStreams == 1_000)
        for tag: UInt32 in 10..<20 { try client.push(tag) }
        try exchange(client, server)
        #expect(client.ended.count == 15)
        #expect(client.session.failure == nil && server.session.failure == nil)
    }

    @Test func `requests that wait behind a lowered limit can be cancelled`() throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings([(3, 100)]))
        _ = try client.drain()
        for tag: UInt32 in 0..<3 { try client.push(tag) }
        try client.feed(FrameBytes.settings([(3, 0)]))
        let bytes = try client.drain()
        #expect(bytes == FrameBytes.settingsAcknowledgement, "nothing goes out")
        for tag: UInt32 in 0..<3 { client.session.reset(try #require(client.submissions[tag])) }
        client.readEvents()
        #expect(client.ended == [0, 1, 2])
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [0: true, 1: true, 2: true])
        try client.feed(FrameBytes.settings([(3, 100)]))
        _ = try client.drain()
        #expect(client.session.openStreams == 0 && client.session.freeStreams == 100)
    }

    @Test func `a window of zero bytes stalls the body until it is enlarged`() throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings([(4, 0)]))
        try client.push(1)
        let header = try client.drain()
        #expect(!contains(header, "payload 1"))
        #expect(!client.session.wantsToWrite)
        try client.feed(FrameBytes.windowUpdate(1, 4))
        #expect(contains(try client.drain(), "payl"))
        try client.feed(FrameBytes.settings([(4, 65_535)]))
        #expect(contains(try client.drain(), "oad 1"))
        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true))
        #expect(client.answers[1]?.status == 200)
    }

    @Test func `a window that shrinks below zero recovers`() throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings([(4, 10)]))
        try client.push(1, payload: String(repeating: "x", count: 15))
        _ = try client.drain()
        try client.feed(FrameBytes.settings([(4, 0)]))
        try client.feed(FrameBytes.windowUpdate(1, 10))
        #expect(try client.drain() == FrameBytes.settingsAcknowledgement)
        try client.feed(FrameBytes.windowUpdate(1, 5))
        #expect(contains(try client.drain(), "xxxxx"))
    }

    @Test(arguments: [0, 100, 4_096, 65_536])
    func `a peer may have any compression table`(size: UInt32) throws {
        var settings = ServerSettings()
        settings.headerTableSize = size
        let (client, server) = try connected(settings)
        for tag: UInt32 in 0..<50 { try client.push(tag) }
        try exchange(client, server)
        #expect(client.ended.count == 50)
        #expect(Set(server.received.map(\.fields.count)) == [8])
    }

    @Test func `varying values do not displace others from the compression table`() throws {
        let (client, server) = try connected()
        var sizes: [Int] = []
        for tag: UInt32 in 0..<1_000 {
            try client.push(tag, payload: "x")
            let bytes = try client.drain()
            sizes.append(bytes.count)
            try server.feed(bytes)
            try client.feed(server.drain())
        }
        #expect(sizes[1] < sizes[0] - 40)
        #expect(sizes[999] <= sizes[1] + 4, "a longer number in token and id, and nothing else")
    }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let text = Array(text.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: text) }
    }
}
