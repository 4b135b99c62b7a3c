import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct TokenSetTests {
    @Test func `only new identities are inserted, at any size`() {
        var seen = TokenSet(expecting: 100)
        var generator = SeededGenerator(seed: 11)
        for size in [1, 3, 500, 20000, 10] {
            seen.begin()
            let ids = (0..<size).map { _ in PushID(high: generator.next(), low: generator.next()) }
            let first = ids.map { seen.insert($0) }
            let second = ids.map { seen.insert($0) }
            #expect(!first.contains(false))
            #expect(!second.contains(true))
        }
    }

    @Test func `identities with the same place are distinguished`() {
        var seen = TokenSet()
        seen.begin()
        let ids = (0..<100).map { PushID(high: $0, low: 42) }
        let first = ids.map { seen.insert($0) }
        let second = ids.map { seen.insert($0) }
        #expect(!first.contains(false))
        #expect(!second.contains(true))
    }

    /// Identities as an enemy would choose them, who knows their key and how the table works, but not its factor.
    private static let chosen: [(name: String, low: @Sendable (UInt64) -> UInt64)] = [
        ("a row of numbers", { $0 }), ("the same lowest bits", { $0 << 11 | 42 }),
        ("the same highest bits", { 42 << 53 | $0 }),
        ("only the highest bits differ", { $0 << 53 | 42 }), ("squares", { $0 &* $0 &* 0x9e37_79b9_7f4a_7c15 }),
    ]

    @Test(arguments: TokenSetTests.chosen.map(\.name))
    func `identities share slots at most twice as often as random ones, however they are chosen`(name: String) throws {
        let low = try #require(Self.chosen.first { $0.name == name }?.low)
        var generator = SeededGenerator(seed: 12)
        let ids = (0..<1000).map { PushID(high: 7, low: low($0)) }
        var pairs = 0
        let factors = 200
        for _ in 0..<factors {
            let set = TokenSet(expecting: 1000, factor: generator.next() | 1)
            var counts: [Int: Int] = [:]
            for id in ids { counts[set.index(of: id), default: 0] += 1 }
            #expect(counts.keys.allSatisfy { (0..<2048).contains($0) })
            pairs += counts.values.reduce(0) { $0 + $1 * ($1 - 1) / 2 }
        }
        let expected = factors * 1000 * 999 / 2 * 2 / 2048
        #expect(pairs <= expected, "\(pairs) pairs share a slot, where \(expected) may")
    }
}
