import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct TokenSetTests {
    @Test func `only new identities are inserted, at any size`() {
        var seen = TokenSet()
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
}
