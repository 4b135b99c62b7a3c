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

    @Test(
        arguments: [
            (1, 1, 1), (7, 1, 1), (7, 100, 1), (1000, 1, 100), (1000, 3, 66), (1000, 100, 20),
            (2_000_000_000, 1, 200_000_000), (2_000_000_000, 100, 40_000_000),
        ] as [(Int32, Int, Int)]
    )
    func `a turn has at least one push, and lasts at most a tenth of a second`(rate: Int32, workers: Int, pushes: Int) {
        var limits = RateLimits()
        limits.workersAlive = workers
        #expect(limits.turn(of: rate) == pushes)
        #expect(pushes <= RateLimits.maxPushes(of: rate))
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
