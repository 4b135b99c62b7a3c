import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

/// When a worker counts as stuck.
extension WorkerStateTests {
    @Test func `a worker says by when it settles something, while it holds claims`() throws {
        var state = try begin(with: [first]) { $0.stuckAfter = .seconds(30) }
        #expect(state.settlingWait(at: now) == nil)
        let early = try claim(&state, at: now)
        _ = state.understood([first], at: now)
        let plan = try plan(&state, at: now + .seconds(2))
        let answer = answer(to: plan, claim: 2)
        _ = state.claimAnswered(answer, to: plan, at: now + .seconds(2))
        let late = UnsettledClaim(try #require(answer.jobs), claimedAs: 7, answeredAt: now)
        #expect(state.settlingWait(at: now + .seconds(10)) == .seconds(20))
        #expect(state.settlingWait(at: now + .seconds(40)) == .seconds(-10))
        _ = end(early, .accepted, in: &state, at: now + .seconds(40))
        #expect(state.settlingWait(at: now + .seconds(40)) == .seconds(30))
        state.schedule.ended(late)
        #expect(state.settlingWait(at: now + .seconds(41)) == nil)
    }
}
