import TestSupport
import Testing

@testable import CarillonHTTP2

/// What a client may not send any more (RFC 9113, section 5.1): the cases that h2spec tries under that number.
@Suite struct LateFramesTests {
    /// What the server says to bytes that came one at a time, or all at once, after a request that was answered.
    private func answer(_ before: [UInt8], _ late: [UInt8], atOnce: Bool) throws -> (bytes: [UInt8], isOver: Bool) {
        let server = try ServerEnd.greeted()
        let all = atOnce ? [before + late] : (before + late).map { [$0] }
        var answer: [UInt8] = []
        for bytes in all {
            do {
                try server.feed(bytes)
            } catch {
                #expect(error is HTTP2Error)
            }
            answer += try server.drain()
        }
        return (answer, server.session.isFinished)
    }

    private static let request = FrameBytes.headers(1, ServerEnd.good, end: true)
    private static let streamClosed = ErrorCode.streamClosed.rawValue

    @Test(arguments: [true, false])
    func `more on a stream that the client has reset is an error of the stream`(atOnce: Bool) throws {
        let before = FrameBytes.headers(1, ServerEnd.good) + FrameBytes.reset(1, 8)
        for late in [FrameBytes.data(1, [1], end: true), FrameBytes.headers(1, ServerEnd.good, end: true)] {
            let (bytes, isOver) = try answer(before, late, atOnce: atOnce)
            #expect(bytes.suffix(13).elementsEqual(FrameBytes.reset(1, Self.streamClosed)))
            #expect(!isOver)
        }
    }

    @Test(arguments: [true, false])
    func `more on a stream that the client has ended is an error of the connection`(atOnce: Bool) throws {
        let trailers = FrameBytes.headers(1, [("x", "y")], end: true)
        for late in [
            FrameBytes.data(1, [1], end: true), FrameBytes.data(1, [1]),
            FrameBytes.headers(1, ServerEnd.good, end: true),
            trailers,
        ] {
            let (bytes, isOver) = try answer(Self.request, late, atOnce: atOnce)
            #expect(isOver)
            // After the answer to the request, if that was written before: the stream's number, the code, and maybe words.
            let goAway = bytes.indices.first { bytes[$0...].starts(with: [7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5]) }
            #expect(goAway.map { $0 >= 3 } == true, "\(bytes)")
        }
    }

    @Test(arguments: [true, false])
    func `a new stream below one that was opened before is an error of the connection`(atOnce: Bool) throws {
        let before = FrameBytes.headers(5, ServerEnd.good, end: true)
        for late in [FrameBytes.headers(3, ServerEnd.good, end: true), FrameBytes.headers(1, ServerEnd.good)] {
            let (bytes, isOver) = try answer(before, late, atOnce: atOnce)
            #expect(isOver)
            let goAway = bytes.indices.first { bytes[$0...].starts(with: [7, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1]) }
            #expect(goAway.map { $0 >= 3 } == true, "\(bytes)")
        }
    }

    @Test func `trailers are not a stream that is too low, and a reset of an old stream hides no new one`() throws {
        let server = try ServerEnd.greeted()
        try server.feed(FrameBytes.headers(1, ServerEnd.good) + FrameBytes.headers(3, ServerEnd.good, end: true))
        try server.feed(FrameBytes.headers(1, [("x", "y")], end: true))
        #expect(server.received.map(\.stream) == [3, 1])
        var late = LateFrames()
        let old =
            FrameBytes.headers(1, [], end: true) + FrameBytes.headers(2_049, [], end: true) + FrameBytes.reset(1, 8)
        let found = (FrameBytes.preface + old + FrameBytes.data(2_049, [])).withUnsafeBytes { bytes in
            late.observe(bytes)
            return late.take()
        }
        #expect(found == [.afterEnd(stream: 2_049)])
    }

    @Test func `a stream may be half closed when it comes too late`() throws {
        let server = try ServerEnd.greeted()
        server.answer = { _ in nil }
        try server.feed(Self.request)
        #expect(throws: HTTP2Error.self) { try server.feed(FrameBytes.data(1, [1])) }
        #expect(server.session.isFinished)
    }

    @Test func `WINDOW_UPDATE, RST_STREAM and PRIORITY after the end of a stream are no fault`() throws {
        let server = try ServerEnd.greeted()
        try server.feed(Self.request)
        _ = try server.drain()
        let priority = FrameBytes.frame(2, stream: 1, [0, 0, 0, 0, 15])
        try server.feed(FrameBytes.windowUpdate(1, 100) + priority + FrameBytes.reset(1, 8))
        #expect(try server.drain().isEmpty)
        try server.feed(FrameBytes.headers(3, ServerEnd.good, end: true))
        #expect(server.received.map(\.stream) == [1, 3])
    }

    @Test func `frames in transit when the server resets a stream are no fault`() throws {
        let server = try ServerEnd.greeted()
        try server.feed(FrameBytes.headers(1, ServerEnd.good))
        try server.session.reset(1, .refusedStream)
        _ = try server.drain()
        try server.feed(FrameBytes.data(1, [1]) + FrameBytes.headers(1, [("x", "y")], end: true))
        #expect(try server.drain().isEmpty)
        try server.feed(FrameBytes.headers(3, ServerEnd.good, end: true))
        #expect(server.received.map(\.stream) == [3])
    }

    @Test func `a request with a body and trailers is in order`() throws {
        let server = try ServerEnd.greeted()
        let bytes =
            FrameBytes.headers(1, ServerEnd.good) + FrameBytes.data(1, [1]) + FrameBytes.data(1, [])
            + FrameBytes.headers(1, [("x", "y")], end: true)
        for byte in bytes { try server.feed([byte]) }
        #expect(server.received.map(\.stream) == [1])
        #expect(!server.session.isFinished)
    }

    @Test func `nothing is reported about old streams`() {
        var late = LateFrames()
        func observe(_ bytes: [UInt8]) -> [LateFrames.Fault] {
            bytes.withUnsafeBytes { late.observe($0) }
            return late.take()
        }
        #expect(observe(FrameBytes.preface + FrameBytes.settings()) == [])
        for number in 0..<2_000 as Range<UInt32> {
            #expect(observe(FrameBytes.data(2 * number + 1, [], end: true)) == [])
        }
        #expect(observe(FrameBytes.data(1, [])) == [])
        #expect(observe(FrameBytes.data(3_999, [])) == [.afterEnd(stream: 3_999)])
        #expect(observe(FrameBytes.reset(3_999, 0)) == [])
        #expect(observe(FrameBytes.headers(3_999, [])) == [.afterReset(stream: 3_999)])
    }

    @Test func `an incomplete frame has a number of its own until it is complete`() throws {
        let server = try ServerEnd()
        let block = FrameBytes.block(ServerEnd.good)
        func bytewise(_ bytes: [UInt8]) -> [[UInt8]] { bytes.map { [$0] } }
        let pieces = [
            bytewise(FrameBytes.preface + FrameBytes.settings([(4, 65_535)])), bytewise(FrameBytes.ping(1)),
            // Debian's nghttp2 counts the pieces of continuations.
            bytewise(FrameBytes.frame(1, stream: 1, block))
                + [FrameBytes.frame(9, stream: 1), FrameBytes.frame(9, flags: 4, stream: 1)],
            bytewise(FrameBytes.data(1, [1, 2, 3])),
        ]
        var numbers: [[Int?]] = []
        for piece in pieces {
            numbers.append([])
            for bytes in piece {
                try server.feed(bytes)
                numbers[numbers.count - 1].append(server.session.unfinished)
            }
        }
        for row in numbers {
            #expect(row.last == .some(nil))
            #expect(!row.dropLast().contains(nil))
        }
        #expect(server.session.unfinished == nil)
        // What comes before the first frame's end of header, then each header and the rest of its frame; and nil.
        #expect(numbers.map { Set($0).count } == [3, 3, 3, 3])
        #expect(Set(numbers.joined()).count == 2 + 2 + 2 + 2 + 1)
    }
}
