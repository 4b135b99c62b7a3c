import CarillonIO
import Testing

@testable import CarillonPushQueue

/// Places for claims that were asked for: those of a large lane and those of many small ones.
@Suite struct ClaimSlotsTests {
    private let start = MonotonicInstant.now

    @Test func `large and small claims have separate slots`() {
        var slots = ClaimSlots()
        for _ in 0..<ClaimSlots.deep { slots.take(.deep) }
        #expect(slots.isOpen(.shallow) && !slots.isOpen(.deep))
        slots.free(.deep)
        for _ in 0..<ClaimSlots.shallow { slots.take(.shallow) }
        #expect(!slots.isOpen(.shallow) && slots.isOpen(.deep))
        #expect(!slots.areEmpty)
    }

    @Test func `many small lanes are claimed from while all slots of large claims are taken`() throws {
        var state = WorkerState(WorkerOptions(), seed: 1)
        state.lease.registered(as: 1, askedAt: start)
        state.reconnection.connected(at: start)
        // Jobs of apps that are not there are claimed too, and end as failures.
        _ = state.read([], of: Array(1..<60))
        let large = Lane(app: 1, number: 1)
        _ = state.understood([large], at: start)
        try makeDeep(large, in: &state)
        // What remains for the large lane: its three places.
        while let plan = state.nextClaim(at: start) { #expect(plan.lane == large && plan.depth == .deep) }
        #expect(state.schedule.slots.isOpen(.shallow) && !state.schedule.slots.isOpen(.deep))
        _ = state.understood((2..<60).map { Lane(app: $0, number: 1) }, at: start)
        var small: Set<Int32> = []
        while let plan = state.nextClaim(at: start) { small.insert(plan.lane.app) }
        #expect(small.count == ClaimSlots.shallow)
        #expect(!small.contains(1))
    }

    /// A first claim shows that the lane has more than was asked for.
    private func makeDeep(_ lane: Lane, in state: inout WorkerState) throws {
        let first = state.nextClaim(at: start)
        let plan = try #require(first)
        #expect(plan.depth == .shallow)
        var answer = ClaimRows()
        answer.rows = Int(plan.rows)
        answer.lowest = 1
        let tooLarge = state.claimReturned(answer, to: plan, at: start)
        #expect(tooLarge == nil)
    }
}
