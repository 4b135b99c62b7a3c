import CarillonIO
import TestSupport
import Testing

@testable import ApplePush

@Suite struct LegacyFeedbackFuzzTests {
    @Test func `any bytes give the same entries in one piece and in many`() async {
        await Fuzzing.seeds(2_000) { seed in
            var random = SeededGenerator(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<30, using: &random) {
                let most = Bool.random(using: &random) ? 40 : 2000
                let token = (0..<Int.random(in: 0..<most, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                bytes += LegacyFeedbackTuplesTests.tuple(.random(in: 0...(.max), using: &random), token)
            }
            // Half of them are not tuples.
            if seed & 1 == 0 {
                for _ in 0..<bytes.count / 10 {
                    bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
                }
            }
            var whole = LegacyFeedbackTuples()
            let expected = whole.append(bytes[...])
            var cut = LegacyFeedbackTuples()
            var entries: [Feedback] = []
            var left = bytes[...]
            while !left.isEmpty {
                let piece = left.prefix(Int.random(in: 1...100, using: &random))
                entries += cut.append(piece)
                left = left.dropFirst(piece.count)
            }
            #expect(entries == expected, "seed \(seed)")
            #expect(cut.isWhole == whole.isWhole && cut.empty == whole.empty, "seed \(seed)")
            #expect(cut.tooLong == whole.tooLong, "seed \(seed)")
            let told = entries.reduce(0) { $0 + 6 + $1.token.utf8.count / 2 } + cut.empty * 6
            #expect(told <= bytes.count, "seed \(seed)")
            if cut.tooLong == 0 { #expect((told == bytes.count) == cut.isWhole, "seed \(seed)") }
        }
    }
}
