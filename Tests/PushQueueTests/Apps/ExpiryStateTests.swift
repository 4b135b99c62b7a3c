import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct ExpiryStateTests {
    @Test func `after a change of credentials it is time to look again`() {
        let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        var state = ExpiryState()
        let first = state.isDue(at: now)
        let again = state.isDue(at: now)
        state.changed()
        let afterChange = state.isDue(at: now)
        #expect(first && !again && afterChange)
    }

    @Test func `expiry is checked at once, and then every hour`() {
        var state = ExpiryState()
        let now = MonotonicInstant(nanoseconds: 0)
        let answers = [0, 1, 3599, 3600, 3601, 7200].map { state.isDue(at: now + .seconds($0)) }
        #expect(answers == [true, false, false, true, false, true])
    }

    @Test func `there is one warning a day for each certificate`() {
        var state = ExpiryState()
        let answers = [(1, 30), (2, 30), (1, 30), (1, 29), (1, 29), (2, 29), (1, -1)].map { id, days in
            state.mustWarn(of: id, days: Int64(days))
        }
        #expect(answers == [true, true, false, true, false, true, true])
    }
}
