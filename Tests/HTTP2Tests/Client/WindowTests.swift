import CarillonHTTP2
import CarillonIO
import TestSupport
import Testing

/// What a session knows of the windows that its requests have to pass.
@Suite struct WindowTests {
    private let kilobytes = String(repeating: "x", count: 4_096)

    /// A client that has seen settings with so large a window for each stream.
    private func client(streamWindow: UInt32 = 65_535) throws -> ClientEnd {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings([(3, 1_000), (4, streamWindow)]))
        _ = try client.drain()
        return client
    }

    @Test func `the bytes that wait for the window are counted exactly`() throws {
        let client = try self.client()
        for tag: UInt32 in 0..<20 { try client.push(tag, payload: kilobytes) }
        #expect(client.session.bodyBytesWaiting == 20 * 4_096)
        #expect(client.session.unwrittenRequests == 20)
        _ = try client.drain()
        #expect(client.session.sendWindow == 0)
        #expect(client.session.bodyBytesDrained == 65_535)
        #expect(client.session.bodyBytesWaiting == 20 * 4_096 - 65_535)
        let written = client.submissions.values.filter { client.session.isWritten($0) }
        #expect(written.count == 20 - client.session.unwrittenRequests)
        try client.feed(FrameBytes.windowUpdate(0, 65_535))
        _ = try client.drain()
        #expect(client.session.unwrittenRequests == 0 && client.session.bodyBytesWaiting == 0)
    }

    @Test func `only a request that had to wait has an event when it is written`() throws {
        let client = try self.client(streamWindow: 10)
        try client.push(0, payload: "short")
        try client.push(1, payload: "longer than that")
        _ = try client.drain()
        client.session.flushEnded()
        #expect(client.written == [])
        try client.feed(FrameBytes.windowUpdate(3, 100))
        try client.push(2, payload: "short too")
        _ = try client.drain()
        #expect(client.written == [1])
    }

    @Test func `a request given up before its end was written is surely unprocessed`() throws {
        let client = try self.client(streamWindow: 10)
        try client.push(0, payload: "short")
        try client.push(1, payload: "longer than that")
        _ = try client.drain()
        for tag: UInt32 in 0..<2 { client.session.reset(try #require(client.submissions[tag])) }
        client.readEvents()
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [0: false, 1: true])
        _ = try client.drain()
        #expect(client.session.unwrittenRequests == 0 && client.session.bodyBytesWaiting == 0)
    }

    @Test func `a request whose last byte did not reach the socket is surely unprocessed`() throws {
        let client = try self.client()
        try client.push(0)
        _ = try client.drain()
        let written = client.bytesDrained
        try client.push(1)
        _ = try client.drain()
        let almost = client.bytesDrained - 1
        let last = try #require(client.submissions[1])
        #expect(client.session.isWritten(last) && !client.session.isWritten(last, bytesWritten: almost))
        client.session.reset(try #require(client.submissions[0]), bytesWritten: written)
        client.session.reset(last, bytesWritten: almost)
        client.readEvents()
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [0: false, 1: true])
    }

    @Test func `a request that was answered in part is not, however little of it was written`() throws {
        let client = try self.client(streamWindow: 0)
        try client.push(0)
        _ = try client.drain()
        try client.feed(FrameBytes.headers(1, [(":status", "400")]))
        try client.feed(FrameBytes.reset(1, 2))
        #expect(client.endings[0]?.isSurelyUnprocessed == false)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `nothing is left waiting in the end, however requests end`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let client = try self.client(streamWindow: 100)
        for tag: UInt32 in 0..<300 {
            let payload = String(repeating: "x", count: .random(in: 1...300, using: &random))
            try client.push(tag, payload: payload)
            // A peer speaks of streams that it knows of.
            _ = try client.drain()
            let other = UInt32.random(in: 0...tag, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: client.session.reset(try #require(client.submissions[other]))
            case 1: try client.feed(FrameBytes.reset(other * 2 + 1, 8))
            case 2: try client.feed(FrameBytes.headers(other * 2 + 1, [(":status", "200")], end: true))
            case 3: try client.feed(FrameBytes.windowUpdate(other * 2 + 1, 1_000))
            default: client.session.flushEnded()
            }
        }
        for submission in client.submissions.values { client.session.reset(submission) }
        _ = try client.drain()
        #expect(client.session.openStreams == 0, "seed \(seed)")
        #expect(client.session.unwrittenRequests == 0 && client.session.bodyBytesWaiting == 0, "seed \(seed)")
        #expect(client.ended.sorted() == Array(0..<300), "seed \(seed)")
    }

    @Test func `a server opens the whole window, however much it has read between two drains`() throws {
        let client = try ClientEnd()
        var settings = ServerSettings()
        settings.connectionWindow = 65_535
        let server = try ServerEnd(settings)
        try exchange(client, server)
        for tag: UInt32 in 0..<20 { try client.push(tag, payload: kilobytes) }
        let sent = try client.drain()
        #expect(client.session.sendWindow == 0)
        for start in stride(from: 0, to: sent.count, by: 16_384) {
            try server.feed(Array(sent[start..<min(start + 16_384, sent.count)]))
        }
        try client.feed(try server.drain())
        #expect(client.session.sendWindow == 65_535)
    }
}
