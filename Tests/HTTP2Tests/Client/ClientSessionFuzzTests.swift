import CarillonHTTP2
import CarillonIO
import TestSupport
import Testing

@Suite struct ClientSessionFuzzTests {
    @Test func `every tag ends once, whatever the peer sends`() async throws {
        var answered = 0
        try await Fuzzing.seeds(200) { seed in
            var random = SeededGenerator(seed: seed)
            let bytes = (0..<Int.random(in: 10..<2_000, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            // Most sessions begin politely, or they would all be over with the first byte.
            let polite: [UInt8] = seed & 7 == 0 ? [] : [25, 255, 0, 0, 3, 232, 255, 0, 0, 255, 255, 1]
            let outcome = try fuzzClientSession(polite + bytes)
            answered += outcome.answered
            if !outcome.isSound {
                Issue.record("seed \(seed): \(outcome.submitted.count) submitted, \(outcome.ended.count) ended")
            }
        }
        #expect(answered > 0, "some sessions get far enough to matter")
    }

    @Test func `little is kept of a header block, whatever it contains`() async throws {
        try await Fuzzing.seeds(300) { seed in
            var random = SeededGenerator(seed: seed)
            let client = try ClientEnd.inFlight(2)
            for stream in [1, 3] as [UInt32] {
                let status = FrameBytes.block([(":status", seed & 1 == 0 ? "200" : "410")])
                let block = (seed & 3 == 0 ? [] : status) + HeaderNoise.block(using: &random)
                // A block may come in pieces.
                let cut = Int.random(in: 0...min(block.count, 16_384), using: &random)
                let isWhole = Bool.random(using: &random)
                let flags: UInt8 = 1 | (isWhole ? 4 : 0)
                try? client.feed(FrameBytes.frame(1, flags: flags, stream: stream, Array(block[..<cut])))
                if !isWhole { try? client.feed(FrameBytes.frame(9, flags: 4, stream: stream, Array(block[cut...]))) }
                _ = try? client.drain()
            }
            client.end()
            #expect(client.ended.sorted() == [0, 1], "seed \(seed)")
            #expect(client.ids.values.allSatisfy { $0.utf8.count <= 192 * 3 }, "seed \(seed)")
            #expect(client.answers.values.allSatisfy { (200...999).contains($0.status) }, "seed \(seed)")
        }
    }

    @Test func `a server survives any bytes`() async throws {
        try await Fuzzing.seeds(160) { seed in
            var random = SeededGenerator(seed: seed)
            let server = try ServerEnd()
            try server.feed(FrameBytes.preface + FrameBytes.settings())
            for _ in 0..<20 {
                let stream = UInt32.random(in: 0..<12, using: &random)
                let payload = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                let frame: [UInt8] =
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: FrameBytes.headers(stream, [(":method", "POST"), (":scheme", "https"), (":path", "/")])
                    case 1: FrameBytes.data(stream, payload, end: true)
                    case 2: FrameBytes.reset(stream, 8)
                    default:
                        FrameBytes.frame(
                            UInt8.random(in: 0..<12, using: &random),
                            flags: payload.first ?? 0,
                            stream: stream,
                            payload
                        )
                    }
                try? server.feed(frame)
                _ = try? server.drain()
            }
        }
    }
}
