import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct RateLimitsTests {
    private let now = MonotonicInstant(nanoseconds: 0)

    @Test func `two claims wait for their turns, and a third is made when one has had its turn`() {
        var limits = RateLimits()
        for _ in 0..<2 {
            #expect(limits.mayClaim(1))
            limits.planned(of: 1)
        }
        #expect(!limits.mayClaim(1) && limits.mayClaim(2))
        limits.stoppedWaiting(of: 1)
        #expect(limits.mayClaim(1))
    }

    @Test func `without a turn the app waits`() {
        var limits = RateLimits()
        limits.wait(1, until: now + .seconds(1))
        #expect(limits.waitEnd(of: 1, at: now) == now + .seconds(1))
        #expect(limits.waitEnd(of: 1, at: now + .seconds(1)) == nil)
        #expect(limits.waitEnd(of: 2, at: now) == nil)
    }

    @Test(arguments: [1, 7, 1000, 2_000_000_000] as [Int32], [1, 3, 100])
    func `a turn has at least one push, and lasts at most a tenth of a second`(rate: Int32, workers: Int) {
        var limits = RateLimits()
        limits.workersAlive = workers
        let turn = limits.turn(of: rate)
        #expect(turn >= 1)
        #expect(turn <= RateLimits.maxPushes(of: rate))
    }

    @Test func `a turn is missed after half of the longest turn`() {
        let now = MonotonicInstant.now
        let turn = RateLimits.Turn(begins: now + .milliseconds(300))
        #expect(!turn.isMissed(at: now))
        #expect(!turn.isMissed(at: now + .milliseconds(300)))
        #expect(!turn.isMissed(at: now + .milliseconds(350)))
        #expect(turn.isMissed(at: now + .milliseconds(351)))
    }

    @Test func `a turn that begins at once is not missed, even if its answer was late`() {
        let answeredAt = MonotonicInstant.now
        #expect(!RateLimits.Turn(begins: answeredAt).isMissed(at: answeredAt))
    }
}
