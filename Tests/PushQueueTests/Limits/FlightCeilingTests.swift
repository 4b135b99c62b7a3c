import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct FlightCeilingTests {
    private let now = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// A worker that claims all that it wants and may have.
    private struct Claimer {
        let ceiling: FlightCeiling.Member
        var inFlight = 0

        mutating func claim(_ wanted: Int, at now: MonotonicInstant) -> Int {
            let room = ceiling.reserve(inFlight: inFlight, at: now)
            let claimed = min(wanted, room)
            inFlight += claimed
            ceiling.record(inFlight: inFlight)
            return claimed
        }

        mutating func settle(_ pushes: Int) {
            inFlight -= pushes
            ceiling.record(inFlight: inFlight)
        }
    }

    @Test func `workers that share a limit never exceed it together`() {
        let ceiling = FlightCeiling(limit: 100, workers: 2)
        var first = Claimer(ceiling: ceiling.member(0))
        var second = Claimer(ceiling: ceiling.member(1))
        let claims = [first.claim(70, at: now), second.claim(70, at: now), first.claim(1, at: now)]
        #expect(claims == [70, 30, 0])
        first.settle(20)
        let more = second.claim(70, at: now)
        #expect(more == 20)
    }

    @Test func `reserved room is not given to another worker`() {
        let ceiling = FlightCeiling(limit: 100, workers: 2)
        #expect(ceiling.member(0).reserve(inFlight: 0, at: now) == 100)
        #expect(ceiling.member(1).reserve(inFlight: 0, at: now) == 0)
        ceiling.member(0).record(inFlight: 10)
        #expect(ceiling.member(1).reserve(inFlight: 0, at: now) == 90)
    }

    @Test func `a worker that found no room gets its part of freed room`() {
        let ceiling = FlightCeiling(limit: 100, workers: 2)
        var first = Claimer(ceiling: ceiling.member(0))
        var second = Claimer(ceiling: ceiling.member(1))
        let early = [first.claim(100, at: now), second.claim(40, at: now)]
        #expect(early == [100, 0])
        first.settle(40)
        // The first has more than its half while the other waits.
        let late = [first.claim(40, at: now), second.claim(40, at: now), second.claim(40, at: now)]
        #expect(late == [0, 40, 0])
        first.settle(60)
        let later = first.claim(100, at: now)
        #expect(later == 50)
    }

    @Test func `no room is kept for a worker that has not asked for a second`() {
        let ceiling = FlightCeiling(limit: 100, workers: 2)
        var first = Claimer(ceiling: ceiling.member(0))
        var second = Claimer(ceiling: ceiling.member(1))
        let early = [first.claim(100, at: now), second.claim(1, at: now)]
        #expect(early == [100, 0])
        first.settle(40)
        let late = [first.claim(40, at: now), first.claim(40, at: now + .seconds(1))]
        #expect(late == [0, 40])
    }
}
