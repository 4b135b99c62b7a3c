import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct AppHoldsTests {
    private let hold = Hold(.connection, "Nobody answers.")

    @Test func `an app is held longer each time, up to a minute`() {
        var holds = AppHolds(seed: 3)
        var now = MonotonicInstant(nanoseconds: 0)
        var waits: [Duration] = []
        for _ in 0..<12 {
            guard let wait = holds.hold(1, for: hold, at: now) else { continue }
            waits.append(wait)
            #expect(holds.endTime(of: 1, at: now) != nil)
            #expect(holds.endTime(of: 2, at: now) == nil)
            now = now + wait
            #expect(holds.endTime(of: 1, at: now) == nil)
            #expect(holds.isHeld(1) && holds.isOnProbation(1))
        }
        #expect(waits.count == 12)
        #expect(waits.first.map { $0 <= .seconds(1) } == true)
        #expect(waits.allSatisfy { $0 <= .seconds(60) })
        #expect(waits.last.map { $0 >= .seconds(30) } == true)
    }

    @Test func `claims that fail together are one hold`() {
        var holds = AppHolds(seed: 4)
        let now = MonotonicInstant(nanoseconds: 0)
        let first = holds.hold(1, for: hold, at: now)
        let second = holds.hold(1, for: hold, at: now)
        #expect(first != nil)
        #expect(second == nil)
    }

    @Test
    func `with another route an app is held no longer, but is tried with one small claim, and then held for longer`()
        throws
    {
        var holds = AppHolds(seed: 6)
        let now = MonotonicInstant(nanoseconds: 0)
        #expect(holds.hold(1, for: hold, at: now) != nil)
        let changes = [holds.routeChanged(1), holds.routeChanged(1), holds.routeChanged(2)]
        #expect(changes == [true, false, false])
        #expect(holds.all.isEmpty && !holds.isHeld(1) && holds.isOnProbation(1) && holds.endTime(of: 1, at: now) == nil)
        #expect(holds.hold(1, for: hold, at: now) != nil)
        #expect(holds.all.map(\.app) == [1])
    }

    @Test func `an answer ends a hold`() {
        var holds = AppHolds(seed: 5)
        _ = holds.hold(1, for: hold, at: .now)
        holds.end(1)
        #expect(!holds.isHeld(1) && !holds.isOnProbation(1))
    }
}
