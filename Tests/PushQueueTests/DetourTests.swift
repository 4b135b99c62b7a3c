import Testing

@testable import PushQueue

/// Who takes the way round the shared connection, and in which order.
@Suite struct DetourTests {
    @Test func `apps take turns, however many statements one of them has`() {
        var turns = TurnsByApp<String>()
        let taken = [turns.take(), turns.take()]
        #expect(taken == [true, false])
        for number in 1...3 { turns.wait("a\(number)", of: 1) }
        turns.wait("b1", of: 2)
        turns.wait("c1", of: 3)
        var order: [String] = []
        while let next = turns.pass() { order.append(next) }
        #expect(order == ["a1", "b1", "c1", "a2", "a3"])
        let takenAgain = turns.take()
        #expect(takenAgain)
    }

    @Test func `an app that met a lock goes round until one of its statements passes; of several, all do`() {
        var locked = LockedApps()
        locked.met(lockOf: 1)
        #expect([1, 2].map { locked.takeDetour($0) } == [true, false])
        locked.met(lockOf: 2)
        locked.met(lockOf: 3)
        #expect([1, 2, 4].map { locked.takeDetour($0) } == [true, true, true])
        locked.passed(1)
        #expect([1, 2, 4].map { locked.takeDetour($0) } == [false, true, false])
    }
}
