import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

/// When a worker counts as stuck, and what it holds until it settles.
extension WorkerStateTests {
    @Test func `a worker says by when it settles something, while it holds claims`() throws {
        var state = try begin(with: [first]) { $0.stuckAfter = .seconds(30) }
        #expect(state.settlingWait(at: now) == nil)
        let early = try claim(&state, at: now)
        _ = state.understood([first], at: now)
        let plan = try plan(&state, at: now + .seconds(2))
        let answer = answer(to: plan, claim: 2)
        _ = state.claimReturned(answer, to: plan, at: now + .seconds(2))
        let late = UnsettledClaim(try #require(answer.jobs), claimedAs: 7, returnedAt: now)
        #expect(state.settlingWait(at: now + .seconds(10)) == .seconds(20))
        #expect(state.settlingWait(at: now + .seconds(40)) == .seconds(-10))
        _ = end(early, .accepted, in: &state, at: now + .seconds(40))
        #expect(state.settlingWait(at: now + .seconds(40)) == .seconds(30))
        state.claimEnded(late)
        #expect(state.settlingWait(at: now + .seconds(41)) == nil)
    }

    @Test(arguments: [(10, true), (2_000_000, false)])
    func `while claims hold many bytes no other is made until one of them ends`(bytes: Int, goesOn: Bool) throws {
        var state = try begin(with: [first])
        let plan = try plan(&state, at: now)
        let job = ModelJob(id: 1, app: 1, tokens: [String(repeating: "z", count: bytes)])
        let held = ModelClaim(id: 1, worker: 7, app: 1, jobs: [job], claimedAt: 0, isQuarantined: false)
        let answer = ClaimRows(held, next: ModelJob(id: 1000, tokens: ["bb"]), lane: plan.lane)
        _ = state.claimReturned(answer, to: plan, at: now)
        let next = state.nextClaim(at: now)
        #expect((next != nil) == goesOn)
        state.claimEnded(UnsettledClaim(try #require(answer.jobs), claimedAs: 7, returnedAt: now))
        let after = state.nextClaim(at: now)
        #expect(after != nil)
    }

    @Test func `an app that has half of all claims gets another one soon after one has ended`() throws {
        let lanes = (0..<600).map { Lane(app: 1, number: Int16($0)) }
        var state = try begin(with: lanes) { $0.maxInFlight = 8192 }
        var claims: [UnsettledClaim] = []
        while let plan = state.nextClaim(at: now) {
            let answer = answer(to: plan, rows: 1, claim: Int64(claims.count + 1))
            _ = state.claimReturned(answer, to: plan, at: now)
            claims.append(UnsettledClaim(try #require(answer.jobs), claimedAs: 7, returnedAt: now))
        }
        #expect(claims.count == 512)
        #expect(state.nextClaim(at: now + .milliseconds(30)) == nil)
        state.claimEnded(try #require(claims.first))
        #expect(state.nextClaim(at: now + .milliseconds(30)) != nil)
    }

    @Test func `an app whose claims hold many bytes leaves room for others`() throws {
        var state = try begin(with: [first])
        let plan = try plan(&state, at: now)
        let job = ModelJob(id: 1, app: 1, tokens: [String(repeating: "z", count: 1_200_000)])
        let held = ModelClaim(id: 1, worker: 7, app: 1, jobs: [job], claimedAt: 0, isQuarantined: false)
        _ = state.claimReturned(ClaimRows(held, next: nil, lane: plan.lane), to: plan, at: now)
        _ = state.apps.found([second])
        _ = state.understood([first, second], at: now)
        #expect(plans(&state, at: now).map(\.lane) == [second])
    }
}
