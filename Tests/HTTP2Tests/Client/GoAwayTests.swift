import CarillonHTTP2
import TestSupport
import Testing

/// GOAWAY, refusal, reset, and the end of a session: each tag ends once, and what was surely not processed says so.
@Suite struct GoAwayTests {
    @Test func `a GOAWAY ends the streams above its last stream at once`() throws {
        let client = try ClientEnd.inFlight(4)
        try client.feed(FrameBytes.goAway(last: 3, 0, #"{"reason":"Shutdown"}"#))
        #expect(client.goAways == [.noError])
        #expect(String(decoding: client.session.goAwayDebugData, as: UTF8.self) == #"{"reason":"Shutdown"}"#)
        #expect(client.ended.sorted() == [2, 3])
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [2: true, 3: true])
        #expect(client.endings[2]?.errorCode == .refusedStream)
        #expect(client.session.freeStreams == 0)
        #expect(throws: HTTP2Error.self) { try client.push(9) }
        #expect(!client.session.isFinished, "two answers are still to come")

        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true))
        try client.feed(FrameBytes.headers(3, [(":status", "410")], end: true))
        #expect(client.ended.sorted() == [0, 1, 2, 3])
        _ = try client.drain()
        #expect(client.session.isFinished)
    }

    @Test func `after the announcement of a GOAWAY everything is answered`() throws {
        let client = try ClientEnd.inFlight(2)
        try client.feed(FrameBytes.goAway(last: UInt32(Int32.max)))
        #expect(client.ended.isEmpty && client.session.isDraining)
        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true))
        try client.feed(FrameBytes.goAway(last: 1))
        #expect(client.ended == [0, 1])
        #expect(client.endings[1]?.isSurelyUnprocessed == true)
        #expect(client.goAways == [.noError, .noError])
    }

    @Test func `requests that were not written when a GOAWAY came end at once`() throws {
        let client = try ClientEnd.inFlight(0)
        try client.push(1)
        try client.push(2)
        try client.feed(FrameBytes.goAway(last: UInt32(Int32.max)))
        #expect(client.ended == [1, 2])
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [1: true, 2: true])
        let after = try client.drain()
        #expect(!after.contains(UInt8(ascii: "p")), "no request went out")
        #expect(client.ended == [1, 2] && client.session.openStreams == 0 && client.session.isFinished)
    }

    @Test func `a second GOAWAY with a higher last stream ends the session, and its end ends the rest`() throws {
        let client = try ClientEnd.inFlight(4)
        try client.feed(FrameBytes.goAway(last: 3))
        try client.feed(FrameBytes.goAway(last: 5))
        _ = try client.drain()
        #expect(client.session.isFinished)
        #expect(client.ended.sorted() == [2, 3])
        client.end()
        #expect(client.ended.sorted() == [0, 1, 2, 3])
        #expect(client.endings[0]?.isSurelyUnprocessed == false && client.endings[0]?.origin == .sessionEnded)
        client.end()
        #expect(client.ended.count == 4)
    }

    @Test func `a refused stream was surely not processed, one reset otherwise may have been`() throws {
        let client = try ClientEnd.inFlight(3)
        try client.feed(FrameBytes.reset(1, 7) + FrameBytes.reset(3, 2) + FrameBytes.reset(5, 0))
        #expect(client.ended == [0, 1, 2])
        #expect(client.endings[0]?.isSurelyUnprocessed == true)
        #expect(client.endings[1]?.isSurelyUnprocessed == false)
        #expect(client.endings[1]?.errorCode == .internalError)
        #expect(client.endings[2]?.isSurelyUnprocessed == false)
        #expect(client.session.openStreams == 0 && client.session.freeStreams == 1_000)
    }

    @Test func `a stream that ends after its status keeps it`() throws {
        let client = try ClientEnd.inFlight(2)
        try client.feed(FrameBytes.headers(1, [(":status", "200")]) + FrameBytes.reset(1, 7))
        #expect(client.endings[0]?.status == 200)
        #expect(client.endings[0]?.isSurelyUnprocessed == false, "refused, and yet it was answered")
        try client.feed(FrameBytes.headers(3, [(":status", "400")]) + FrameBytes.data(3, Array("{".utf8)))
        client.end()
        #expect(client.endings[1]?.status == 400)
    }

    @Test func `a GOAWAY below a stream that was partly answered does not make it unprocessed`() throws {
        let client = try ClientEnd.inFlight(2)
        try client.feed(FrameBytes.headers(1, [(":status", "200")]) + FrameBytes.goAway(last: 0))
        #expect(client.ended.sorted() == [0, 1])
        #expect(client.endings[0]?.isSurelyUnprocessed == false && client.endings[0]?.status == 200)
        #expect(client.endings[1]?.isSurelyUnprocessed == true)
    }

    @Test func `a cancelled request ends at once, and a late answer changes nothing`() throws {
        let client = try ClientEnd.inFlight(2)
        let first = try #require(client.submissions[0])
        #expect(client.session.reset(first))
        #expect(!client.session.reset(first), "only once")
        client.readEvents()
        #expect(client.endings[0]?.origin == .reset && client.endings[0]?.isSurelyUnprocessed == false)
        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true))
        try client.feed(FrameBytes.headers(3, [(":status", "200")], end: true))
        let bytes = try client.drain()
        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true))
        _ = try client.drain()
        #expect(client.ended == [0, 1])
        #expect(bytes == FrameBytes.reset(1, ErrorCode.cancel.rawValue))
        #expect(client.session.openStreams == 0 && !client.session.isFinished)
    }

    @Test func `a request that is cancelled before it is written is never sent`() throws {
        let client = try ClientEnd.inFlight(0)
        for tag: UInt32 in 0..<3 { try client.push(tag) }
        #expect(client.session.reset(try #require(client.submissions[1])))
        client.readEvents()
        #expect(client.endings[1]?.isSurelyUnprocessed == true)
        let server = try ServerEnd()
        try server.feed(FrameBytes.preface + FrameBytes.settings() + client.drain())
        #expect(server.received.map(\.body) == ["payload 0", "payload 2"])
        #expect(client.session.openStreams == 2 && client.sharedBlocks == 1)
    }

    @Test func `a slot is not confused with the one that had its place before`() throws {
        let client = try ClientEnd.inFlight(1)
        let first = try #require(client.submissions[0])
        try client.feed(FrameBytes.headers(1, [(":status", "200")], end: true))
        try client.push(1)
        #expect(!client.session.reset(first))
        #expect(client.ended == [0])
    }

    @Test func `the end of a session distinguishes requests that never reached the socket`() throws {
        let client = try ClientEnd.inFlight(1)
        let written = client.bytesDrained
        try client.push(1)
        _ = try client.drain()
        try client.push(2)
        client.end(bytesWritten: written)
        #expect(client.ended == [0, 1, 2])
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [0: false, 1: true, 2: true])
        #expect(throws: HTTP2Error.self) { try client.push(3) }
        #expect(throws: HTTP2Error.self) { try client.feed(FrameBytes.settings()) }
    }

    @Test func `an answer that comes before the whole request is sent counts`() throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings([(4, 0)]))  // no window: the body has to wait
        try client.push(1)
        _ = try client.drain()
        try client.feed(
            FrameBytes.headers(1, [(":status", "413")]) + FrameBytes.data(1, Array("too long".utf8), end: true)
        )
        #expect(client.answers[1]?.status == 413 && client.bodies[1] == "too long")
        let bytes = try client.drain()
        #expect(bytes == FrameBytes.reset(1, ErrorCode.cancel.rawValue))
        #expect(client.session.openStreams == 0 && client.sharedBlocks == 1 && client.ended == [1])
    }

    @Test func `a server sends a GOAWAY and ignores later streams`() throws {
        let (client, server) = try connected()
        server.answer = { _ in nil }
        for tag: UInt32 in 0..<4 { try client.push(tag) }
        try server.feed(client.drain())
        try server.session.goAway(last: 3, .noError, debugData: Array("bye".utf8))
        try exchange(client, server)
        #expect(client.ended.sorted() == [2, 3])
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [2: true, 3: true])
        #expect(client.session.goAwayDebugData == Array("bye".utf8))
        for request in server.received.prefix(2) { server.respond(to: request, 200, "") }
        try exchange(client, server)
        #expect(client.ended.sorted() == [0, 1, 2, 3])
        #expect(client.session.isFinished && server.session.isFinished)
    }

    @Test func `a server sends a GOAWAY with a reason and still answers`() throws {
        let (client, server) = try connected()
        server.answer = { _ in nil }
        try client.push(0)
        try server.feed(client.drain())
        try server.session.goAway(.enhanceYourCalm, debugData: Array(#"{"reason":"TooManyRequests"}"#.utf8))
        try exchange(client, server)
        #expect(client.goAways == [.enhanceYourCalm])
        #expect(!server.session.isFinished && !client.session.isFinished)
        server.respond(to: try #require(server.received.first), 200, "")
        try exchange(client, server)
        #expect(client.answers[0]?.status == 200)
        #expect(server.session.isFinished && server.session.failure == nil && client.session.failure == nil)
    }

    @Test func `a server announces a GOAWAY and still accepts requests in transit`() throws {
        let (client, server) = try connected()
        try client.push(0)
        let request = try client.drain()
        try server.session.goAway(last: .max)
        try client.feed(server.drain())
        #expect(client.session.isDraining)
        try server.feed(request)
        try exchange(client, server)
        #expect(client.answers[0]?.status == 200)
    }

    @Test func `a server refuses and resets`() throws {
        let (client, server) = try connected()
        server.answer = { _ in nil }
        try client.push(0)
        try client.push(1)
        try server.feed(client.drain())
        try server.session.reset(1, .refusedStream)
        try server.session.reset(3, .internalError)
        try exchange(client, server)
        #expect(client.endings.mapValues(\.isSurelyUnprocessed) == [0: true, 1: false])
        #expect(server.session.openStreams == 0)
        let answer = HeaderBlock(status: 200)
        let body: [UInt8] = [1]
        #expect(throws: HTTP2Error.self) {
            try server.session.respond(to: 1, answer, body: body.span.bytes)
        }
    }
}
