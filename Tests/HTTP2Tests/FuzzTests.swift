import HTTP2
import Testing

@Suite struct FuzzTests {
    @Test(arguments: 0..<8)
    func `whatever comes, every tag ends once`(part: UInt64) throws {
        var answered = 0
        for round in 0..<25 as Range<UInt64> {
            let seed = part << 32 | round
            var random = SeededRandom(seed: seed)
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

    @Test(arguments: 0..<4)
    func `a server survives whatever comes`(part: UInt64) throws {
        for round in 0..<40 as Range<UInt64> {
            var random = SeededRandom(seed: part << 32 | round)
            let server = try TestServer()
            try server.feed(Frames.preface + Frames.settings())
            for _ in 0..<20 {
                let stream = UInt32.random(in: 0..<12, using: &random)
                let payload = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                let frame: [UInt8] =
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: Frames.headers(stream, [(":method", "POST"), (":scheme", "https"), (":path", "/")])
                    case 1: Frames.data(stream, payload, end: true)
                    case 2: Frames.reset(stream, 8)
                    default:
                        Frames.frame(
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

/// Numbers that are the same for the same seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var value = self.state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
