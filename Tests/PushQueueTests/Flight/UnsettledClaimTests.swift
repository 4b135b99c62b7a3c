import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

/// What a worker's state makes of a claim that lands in two parts.
@Suite struct UnsettledClaimTests {
    private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// A state with a claim of three pushes in flight.
    private func begin() throws -> (WorkerState, UnsettledClaim) {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb"])
        claim.add(tokens: ["cc"])
        var options = WorkerOptions()
        options.maxInFlight = 4800
        var state = WorkerState(options, seed: 1)
        state.reconnection.connected(at: now)
        state.lease.registered(as: 1, askedAt: now)
        let flight = try self.claim(claim.jobs, in: &state)
        return (state, flight)
    }

    private func claim(_ jobs: ClaimedJobs, in state: inout WorkerState) throws -> UnsettledClaim {
        // Jobs of an app that is not there are claimed too.
        _ = state.read([], of: [1])
        _ = state.understood([Lane(app: 1, number: 1)], at: now)
        let next = state.nextClaim(at: now)
        let plan = try #require(next)
        var answer = ClaimRows()
        answer.jobs = jobs
        answer.rows = jobs.count
        answer.lowest = jobs.lowest
        _ = state.claimReturned(answer, to: plan, at: now)
        return UnsettledClaim(jobs, claimedAs: 1, returnedAt: now)
    }

    @Test func `settled pushes make room, and the claim is in flight until its last part`() throws {
        var (state, flight) = try begin()
        let early = Outcomes([.accepted, .pending, .accepted])
        let first = state.settlement(of: flight, early, at: now)
        state.settled(&flight, first, early, at: now)
        #expect(flight.settlementNumber == 1)
        #expect(state.schedule.inFlight == 1)
        #expect(!state.schedule.isIdle)
        let all = Outcomes([.accepted, .accepted, .accepted])
        let second = state.settlement(of: flight, all, at: now)
        state.settled(&flight, second, all, at: now)
        state.claimEnded(flight)
        #expect(state.schedule.inFlight == 0)
        #expect(state.schedule.isIdle)
        #expect(state.unwrittenCounts.take()[1]?.sent == 3)
    }

    @Test func `a first part that is not written changes nothing`() throws {
        var (state, flight) = try begin()
        let early = Outcomes([.accepted, .pending, .accepted])
        _ = state.settlement(of: flight, early, at: now)
        let all = Outcomes([.accepted, .accepted, .accepted])
        let whole = state.settlement(of: flight, all, at: now)
        #expect(whole.ended.map(\.sent) == [2, 1])
        #expect(state.schedule.inFlight == 3)
    }

    @Test func `a claim that was taken over is not counted, and makes room at its end`() throws {
        var (state, flight) = try begin()
        _ = state.settlement(of: flight, Outcomes([.accepted, .pending, .accepted]), at: now)
        flight.progress = .lost
        #expect(state.schedule.inFlight == 3)
        state.claimEnded(flight)
        #expect(state.schedule.inFlight == 0)
        #expect(state.unwrittenCounts.take().isEmpty)
    }

    @Test func `a claim that has the number of one lost in a crash stays known`() throws {
        let (begun, flight) = try begin()
        var state = begun
        var later = ClaimBuilder(claimedAt: flight.jobs.claimedAt + 1)
        later.add(tokens: ["dd"])
        _ = try claim(later.jobs, in: &state)
        state.claimEnded(flight)
        #expect(state.schedule.knownClaims == [flight.jobs.id])
        #expect(!state.schedule.isIdle)
    }
}
