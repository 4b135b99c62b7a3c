import Testing

@testable import PushQueue

@Suite struct FlightCeilingTests {
    @Test func `workers that share a ceiling never hold more than it together`() {
        let ceiling = FlightCeiling(limit: 100, workers: 2)
        var first = Admission(limit: 100, share: ceiling.share(0))
        var second = Admission(limit: 100, share: ceiling.share(1))
        first.admit(70, of: 1)
        #expect(second.room(for: 1) == 30)
        second.admit(30, of: 1)
        #expect(!first.hasRoom)
        first.release(20, of: 1)
        #expect(second.room(for: 1) == 20)
    }

    @Test func `one that found no room gets its part of what comes free`() {
        let ceiling = FlightCeiling(limit: 100, workers: 2)
        var first = Admission(limit: 200, share: ceiling.share(0))
        var second = Admission(limit: 200, share: ceiling.share(1))
        first.admit(100, of: 1)
        #expect(!second.hasRoom)
        first.release(40, of: 1)
        // The first has more than its half while the other waits.
        #expect(!first.hasRoom)
        #expect(second.room(for: 1) == 40)
        second.admit(40, of: 1)
        #expect(!second.hasRoom)
        first.release(60, of: 1)
        #expect(first.room(for: 1) == 50)
    }
}
