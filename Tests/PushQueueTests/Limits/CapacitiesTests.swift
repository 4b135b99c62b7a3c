import Testing

@testable import CarillonPushQueue

@Suite struct CapacitiesTests {
    @Test func `an unknown capacity does not limit claims`() {
        #expect(Capacities(claimSize: 1_000).room(for: 1, inFlight: 5_000) == .max)
    }

    @Test func `a gateway with one stream gets few pushes, and one with a thousand gets all`() {
        var capacities = Capacities(claimSize: 1_000)
        capacities.learned(1, of: 1)
        #expect(capacities.room(for: 1, inFlight: 0) == 8)
        #expect(capacities.room(for: 1, inFlight: 1_000) <= 0)
        #expect(capacities.room(for: 2, inFlight: 0) == .max)
        capacities.learned(1_000, of: 1)
        #expect(capacities.room(for: 1, inFlight: 1_000) == 7_000)
    }

    @Test func `a gateway without streams gets one push, and is forgotten with its connection`() {
        var capacities = Capacities(claimSize: 1_000)
        capacities.learned(0, of: 1)
        #expect(capacities.room(for: 1, inFlight: 0) == 1)
        #expect(capacities.room(for: 1, inFlight: 1) == 0)
        capacities.learned(nil, of: 1)
        #expect(capacities.room(for: 1, inFlight: 1) == .max)
    }

    @Test func `if several claims fit, the last is as large as the others`() {
        var capacities = Capacities(claimSize: 1_000)
        capacities.learned(571, of: 1)
        #expect(capacities.room(for: 1, inFlight: 4_000) == 1_000)
        #expect(capacities.room(for: 1, inFlight: 4_568) == 0)
        capacities.learned(100, of: 1)
        #expect(capacities.room(for: 1, inFlight: 700) == 100)
    }
}
