import TestSupport
import Testing

/// Gateways that send too much.
@Suite struct FloodCases {
    @Test func `H11: an endless header block ends the connection`() async throws {
        try await Scene.survive([
            { stream in
                let beginning = FrameBytes.frame(1, stream: stream, FrameBytes.block([(":status", "200")]))
                let more = FrameBytes.frame(9, stream: stream, FrameBytes.block([("a", "b")]))
                return beginning + Array(repeatElement(more, count: 10_000).joined())
            }
        ])
    }

    @Test func `H12, H13: header fields that grow from nothing, too many of them, and one of 64 KB`() async throws {
        try await Scene.survive([
            { stream in
                let entry = [0x40] + FrameBytes.string("x") + FrameBytes.string(String(repeating: "y", count: 4_000))
                let block = FrameBytes.block([(":status", "200")]) + entry + [UInt8](repeating: 0xbe, count: 10_000)
                return FrameBytes.frame(1, flags: 5, stream: stream, block)
            },
            { FrameBytes.headers($0, [(":status", "200")] + (0..<100).map { ("x-\($0)", "y") }, end: true) },
            { stream in
                let block = FrameBytes.block([(":status", "200"), ("x", String(repeating: "y", count: 65_536))])
                let pieces = stride(from: 0, to: block.count, by: 16_384).map {
                    Array(block[$0..<min($0 + 16_384, block.count)])
                }
                return FrameBytes.frame(1, flags: 1, stream: stream, pieces[0])
                    + pieces.dropFirst().flatMap { FrameBytes.frame(9, stream: stream, $0) }
                    + FrameBytes.frame(9, flags: 4, stream: stream)
            },
        ])
    }

    private static func many(_ frame: [UInt8]) -> [UInt8] { Array(repeatElement(frame, count: 20_000).joined()) }

    @Test func `H14: a flood of meaningless frames of any type ends its connection`() async throws {
        try await Scene.survive([
            { _ in Self.many(FrameBytes.ping(1)) }, { _ in Self.many(FrameBytes.ping(1, acknowledgement: true)) },
            { _ in Self.many(FrameBytes.settings()) }, { _ in Self.many(FrameBytes.frame(0xbb, stream: 0, [1, 2])) },
            { FrameBytes.headers($0, [(":status", "200")]) + Self.many(FrameBytes.data($0, [])) },
            { Self.many(FrameBytes.headers($0, [(":status", "103")])) },
            { _ in Self.many(FrameBytes.windowUpdate(0, 1)) },
        ]) { _, worker, _ in
            let ends = try await worker.ends(by: "flooded")
            #expect(ends == 7)
        }
    }

    @Test func `H15: an endless body is cut off, its status counts, and the connection stays`() async throws {
        try await Scene.send { frame in
            guard frame.isAnswer, frame.answers == 21, frame.connection == 1 else { return [.pass] }
            let piece = FrameBytes.data(frame.frame.stream, [UInt8](repeating: 120, count: 16_384))
            return [.say(FrameBytes.headers(frame.frame.stream, [(":status", "200")]))]
                + (0..<64).map { _ in .say(piece) }
        } then: { _, worker, _ async throws in
            #expect(try await worker.unknownOutcomes == 0)
            // A busy worker may open a second one beside it.
            let ends = try await worker.ends()
            #expect(ends.allSatisfy { $0.hasSuffix(" 0") }, "\(ends)")
            #expect((worker.mostMemory ?? 0) < 200 << 20)
        }
    }

    @Test
    func `H15: a body of 100 MB, more than the window, ends its connection`() async throws {
        let pieces = Board.sized(1_600, full: 6_400)
        try await Scene.survive([
            { stream in
                let piece = FrameBytes.data(stream, [UInt8](repeating: 120, count: 16_384))
                return (0..<pieces).reduce(into: FrameBytes.headers(stream, [(":status", "200")])) { bytes, _ in
                    bytes += piece
                }
            }
        ]) { _, worker, _ in
            // It exceeds the connection's window, and there are too many frames for the answers. Which is detected first depends on
            // their speed.
            let violated = try await worker.ends(by: "violated")
            let flooded = try await worker.ends(by: "flooded")
            let all = try await worker.ends()
            #expect(violated + flooded == 1, "\(all)")
        }
    }
}
