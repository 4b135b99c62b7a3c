import CarillonIO
import Testing

@testable import CarillonPushQueue

/// Who takes the way round the shared connection, and in which order.
@Suite struct DetourTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    @Test func `apps are served in rotation, however many statements wait for one of them`() {
        var queue = DetourQueue<String>()
        let taken = [queue.take(), queue.take()]
        #expect(taken == [true, false])
        for number in 1...3 { queue.wait("a\(number)", of: 1) }
        queue.wait("b1", of: 2)
        queue.wait("c1", of: 3)
        var order: [String] = []
        while let next = queue.pass() { order.append(next) }
        #expect(order == ["a1", "b1", "c1", "a2", "a3"])
        let takenAgain = queue.take()
        #expect(takenAgain)
    }

    @Test func `an app that met a lock takes the detour until a statement succeeds; after several such apps, all do`() {
        var locked = LockedApps()
        locked.met(lockOf: 1, at: start)
        #expect([1, 2].map { locked.mustDetour($0, at: start) } == [true, false])
        locked.met(lockOf: 2, at: start)
        locked.met(lockOf: 3, at: start)
        #expect([1, 2, 4].map { locked.mustDetour($0, at: start) } == [true, true, true])
        locked.passed(1)
        #expect([1, 2, 4].map { locked.mustDetour($0, at: start) } == [false, true, false])
    }

    @Test func `apps that met a lock and have no more statements are soon forgotten`() {
        var locked = LockedApps()
        for app in 1...3 { locked.met(lockOf: Int32(app), at: start) }
        locked.met(lockOf: 3, at: start + .seconds(20))
        #expect(locked.mustDetour(4, at: start + .seconds(29)))
        #expect([1, 3, 4].map { locked.mustDetour($0, at: start + .seconds(31)) } == [false, true, false])
        #expect(!locked.mustDetour(3, at: start + .seconds(51)))
    }
}
