import CarillonIO
import TestSupport
import Testing

@testable import CarillonHTTP2

/// Plain answers are shortened before nghttp2 reads them, and nothing else is.
@Suite struct ReceivedFramesTests {
    private static let id = "0f9a3d1e-1f2b-4c5d-8e9f-a0b1c2d3e4f5"
    private static let name = FrameBytes.string("apns-id")
    private static let plain = frame([0x88, 0x00] + name + FrameBytes.string(id))
    private static let short = frame([0x88])

    private static func frame(_ block: [UInt8], flags: UInt8 = 5) -> [UInt8] {
        FrameBytes.frame(1, flags: flags, stream: 1, block)
    }

    private func read(_ bytes: [UInt8], with frames: inout ReceivedFrames) -> [UInt8] {
        bytes.withUnsafeBytes { Array(frames.read($0)) }
    }

    private func read(_ bytes: [UInt8]) -> [UInt8] {
        var frames = ReceivedFrames(shortensAnswers: true)
        return read(bytes, with: &frames)
    }

    @Test func `of a plain answer its status remains`() {
        #expect(read(Self.plain) == Self.short)
        #expect(read(Self.frame([0x88, 0x10] + Self.name + FrameBytes.string(Self.id))) == Self.short)
        #expect(read(Self.frame([0x88, 0x00] + Self.name + FrameBytes.string(""))) == Self.short)
        let others = FrameBytes.ping(1) + FrameBytes.data(3, [1, 2, 3])
        #expect(read(others + Self.plain + Self.plain + others) == others + Self.short + Self.short + others)
    }

    @Test func `what nghttp2's encoder makes of a plain answer is one`() throws {
        let client = try ClientEnd()
        let server = try ServerEnd()
        try exchange(client, server)
        for tag: UInt32 in 0..<3 { try client.push(tag) }
        try server.feed(client.drain())
        let answers = try server.drain()
        var frames = ReceivedFrames(shortensAnswers: true)
        let read = self.read(answers, with: &frames)
        // The first says that the table has no bytes.
        let rest = FrameBytes.frame(1, flags: 5, stream: 3, [0x88]) + FrameBytes.frame(1, flags: 5, stream: 5, [0x88])
        #expect(read.suffix(rest.count) == rest[...] && read.count < answers.count)
        #expect(frames.count == 3)
    }

    static let others: [(String, [UInt8])] = [
        ("a table's size comes first", frame([0x20, 0x88, 0x00] + name + FrameBytes.string(id))),
        ("another status", frame([0x8c, 0x00] + name + FrameBytes.string(id))),
        ("a field that enters the table", frame([0x88, 0x40] + name + FrameBytes.string(id))),
        ("a field with a name from the table", frame([0x88, 0x0f, 47] + FrameBytes.string(id))),
        ("another field", frame([0x88, 0x00] + FrameBytes.string("apns-ix") + FrameBytes.string(id))),
        ("a longer name", frame([0x88, 0x00] + FrameBytes.string("apns-id2") + FrameBytes.string(id))),
        ("a unique id", frame([0x88] + FrameBytes.block([("apns-unique-id", id)]))),
        ("a second field", frame([0x88] + FrameBytes.block([("apns-id", id), ("retry-after", "1")]))),
        ("a value beyond the block", frame([0x88, 0x00] + name + [37] + id.utf8)),
        ("a value before the block's end", frame([0x88, 0x00] + name + [35] + id.utf8)),
        ("a long value", frame([0x88, 0x00] + name + FrameBytes.string(String(repeating: "x", count: 127)))),
        ("no field", frame([0x88])),
        ("no value", frame([0x88, 0x00] + name)),
        ("no block", frame([])),
        ("a body", frame([0x88, 0x00] + name + FrameBytes.string(id), flags: 4)),
        ("more of the block", frame([0x88, 0x00] + name + FrameBytes.string(id), flags: 1)),
        ("padding", frame([0x88, 0x00] + name + FrameBytes.string(id), flags: 13)),
        ("a priority", frame([0x88, 0x00] + name + FrameBytes.string(id), flags: 37)),
        ("another frame", FrameBytes.frame(9, flags: 5, stream: 1, [0x88, 0x00] + name + FrameBytes.string(id))),
    ]

    @Test(arguments: others)
    func `anything else stays as it is`(what: String, bytes: [UInt8]) {
        #expect(read(bytes + bytes) == bytes + bytes, "\(what)")
        #expect(read(bytes + Self.plain) == bytes + Self.short, "\(what)")
    }

    @Test func `an answer that arrives in pieces stays as it is`() {
        let bytes = Self.plain + Self.plain
        for cut in 1..<bytes.count {
            var frames = ReceivedFrames(shortensAnswers: true)
            let (first, second) = (Array(bytes[..<cut]), Array(bytes[cut...]))
            let read = self.read(first, with: &frames) + self.read(second, with: &frames)
            let expected =
                cut == Self.plain.count
                ? Self.short + Self.short
                : cut < Self.plain.count ? Self.plain + Self.short : Self.short + Self.plain
            #expect(read == expected, "cut at \(cut)")
            #expect(frames.count == 2)
        }
    }

    @Test func `a session that keeps the field reads it`() throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings())
        try client.push(0)
        _ = try client.drain()
        try client.feed(Self.plain)
        #expect(client.ids == [0: Self.id])
    }
}
