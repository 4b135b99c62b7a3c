import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct WALStateTests {
    private static func at(_ timeline: Int32, _ flushed: Int64, cluster: Int64 = 1) -> WALPosition {
        WALPosition(cluster: cluster, timeline: timeline, flushed: flushed)
    }

    @Test func `a log that becomes shorter or changes its timeline is noticed once`() {
        let first = Self.at(2, 1000)
        let cases: [(WALPosition, Bool)] = [
            (Self.at(2, 1000), false), (Self.at(2, 1001), false), (Self.at(2, 999), true), (Self.at(3, 1001), true),
            (Self.at(3, 900), true), (Self.at(1, 2000), true), (Self.at(1, 900, cluster: 2), false),
        ]
        for (next, isNoticed) in cases {
            var state = WALState()
            #expect(state.saw(first, since: nil) == nil)
            #expect(state.saw(next, since: first) == (isNoticed ? first : nil), "\(next)")
            #expect(state.saw(next, since: next) == nil)
        }
    }

    @Test func `an answer that was overtaken by another proves nothing`() {
        var state = WALState()
        let (first, older, newer) = (Self.at(1, 10), Self.at(1, 20), Self.at(1, 30))
        #expect(state.saw(first, since: nil) == nil)
        #expect(state.saw(newer, since: first) == nil)
        #expect(state.saw(older, since: first) == nil)
        #expect(state.last == newer)
    }
}
