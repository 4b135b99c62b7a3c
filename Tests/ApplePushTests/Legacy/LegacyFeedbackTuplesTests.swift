import Testing

@testable import ApplePush

@Suite struct LegacyFeedbackTuplesTests {
    /// The bytes of a tuple.
    static func tuple(_ seconds: UInt32, _ token: [UInt8]) -> [UInt8] {
        let length = UInt16(token.count)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: seconds >> $0) } + [
            UInt8(length >> 8), UInt8(length & 255),
        ]
            + token
    }

    @Test func `a tuple is a time in seconds and a token`() {
        var tuples = LegacyFeedbackTuples()
        let bytes = Self.tuple(1_300_000_000, Array(repeating: 0xab, count: 32))
        let entries = tuples.append(bytes[...])
        #expect(entries == [Feedback(token: String(repeating: "ab", count: 32), timestamp: 1_300_000_000_000)])
        #expect(tuples.isWhole)
    }

    @Test func `times beyond 2038 are valid`() {
        var tuples = LegacyFeedbackTuples()
        let entries = tuples.append(Self.tuple(.max, [1])[...])
        #expect(entries.first?.timestamp == 4_294_967_295_000)
    }

    @Test func `tokens have the length that they state, and those that nobody can have are counted and skipped`() {
        var tuples = LegacyFeedbackTuples()
        func token(_ count: Int) -> [UInt8] { Self.tuple(3, Array(repeating: 7, count: count)) }
        let bytes = Self.tuple(1, [0x0f]) + Self.tuple(2, []) + token(65_535) + token(256) + token(257) + token(1)
        let entries = tuples.append(bytes[...])
        #expect(entries.map(\.token.utf8.count) == [2, 512, 2])
        #expect(entries.first?.token == "0f")
        #expect(tuples.empty == 1 && tuples.tooLong == 2)
        #expect(tuples.isWhole)
    }

    @Test func `an incomplete tuple is not an entry`() {
        let bytes = Self.tuple(1, [1, 2, 3]) + Self.tuple(2, [4, 5, 6])
        for count in 10..<bytes.count {
            var tuples = LegacyFeedbackTuples()
            let entries = tuples.append(bytes[..<count])
            #expect(entries.count == 1)
            #expect(!tuples.isWhole)
        }
    }
}
