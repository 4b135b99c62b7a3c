import Testing

@testable import CarillonPushQueue

@Suite struct ChannelTurnsTests {
    /// The apps that are asked in a round, if each of those that have requests gets so many.
    private func round(_ turns: inout ChannelTurns, _ requests: [Int32: Int], silent: Set<Int32> = []) -> [Int32] {
        var (left, asked) = (requests, [Int32]())
        turns.beginRound()
        while let app = turns.choices.lazy.compactMap({ skipped in
            left.keys.filter { !skipped.contains($0) }.min()
        }).first {
            asked.append(app)
            left[app] = left[app].flatMap { $0 > 1 ? $0 - 1 : nil }
            turns.asked(app, isAnswered: !silent.contains(app))
        }
        return asked
    }

    @Test func `each app has one request in turn`() {
        var turns = ChannelTurns()
        #expect(round(&turns, [1: 3, 2: 1, 3: 2]) == [1, 2, 3, 1, 3, 1])
        #expect(round(&turns, [:]).isEmpty)
    }

    @Test func `an app that does not answer is asked once in a round, and last from then on, until it answers`() {
        var turns = ChannelTurns()
        #expect(round(&turns, [1: 3, 2: 2], silent: [1]) == [1, 2, 2])
        #expect(turns.ordered([1, 2]) == [2, 1])
        #expect(round(&turns, [1: 3, 2: 2], silent: [1]) == [2, 2, 1])
        #expect(round(&turns, [1: 3, 2: 1, 3: 1], silent: [1, 3]) == [2, 3, 1])
        #expect(round(&turns, [1: 2, 2: 1]) == [2, 1, 1])
        #expect(round(&turns, [1: 2, 2: 1]) == [1, 2, 1])
    }
}
