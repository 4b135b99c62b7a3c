import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

/// What a worker's state makes of a claim that lands in two parts.
@Suite struct HeldClaimTests {
    private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// A state with a claim of three pushes in the air.
    private func begin() -> (WorkerState, HeldClaim) {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa", "bb"])
        claim.add(tokens: ["cc"])
        var options = WorkerOptions()
        options.maxInFlight = 100
        var state = WorkerState(options, seed: 1)
        state.limits.admission.admit(3, of: 1)
        state.flights.insert(claim.jobs.key)
        return (state, HeldClaim(claim.jobs, claimedAs: 1, answeredAt: now))
    }

    @Test func `settled pushes make room, and the claim is in flight until its last part`() {
        var (state, flight) = begin()
        let early = Outcomes([.delivered, .pending, .delivered])
        let first = state.settlement(of: flight, early, at: now)
        state.settled(&flight, first, early, at: now)
        #expect(flight.part == 1)
        #expect(state.inFlight == 1)
        #expect(!state.isIdle)
        let all = Outcomes([.delivered, .delivered, .delivered])
        let second = state.settlement(of: flight, all, at: now)
        state.settled(&flight, second, all, at: now)
        state.ended(flight)
        #expect(state.inFlight == 0)
        #expect(state.isIdle)
        #expect(state.activity[1]?.sent == 3)
    }

    @Test func `a first part that is not written changes nothing`() {
        var (state, flight) = begin()
        let early = Outcomes([.delivered, .pending, .delivered])
        _ = state.settlement(of: flight, early, at: now)
        let all = Outcomes([.delivered, .delivered, .delivered])
        let whole = state.settlement(of: flight, all, at: now)
        #expect(whole.ended.map(\.sent) == [2, 1])
        #expect(state.inFlight == 3)
    }

    @Test func `a claim that was taken over is not counted, and makes room at its end`() {
        var (state, flight) = begin()
        _ = state.settlement(of: flight, Outcomes([.delivered, .pending, .delivered]), at: now)
        flight.progress = .lost
        #expect(state.inFlight == 3)
        state.ended(flight)
        #expect(state.inFlight == 0)
        #expect(state.activity.isEmpty)
    }

    @Test func `a claim that has the number of one lost in a crash stays held`() {
        let (begun, flight) = begin()
        var state = begun
        let later = ClaimKey(id: flight.jobs.id, claimedAt: flight.jobs.claimedAt + 1)
        state.flights.insert(later)
        state.ended(flight)
        #expect(state.heldClaims == [later.id])
        #expect(!state.isIdle)
    }
}
