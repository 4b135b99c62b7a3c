import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct ExpiryWatchTests {
    @Test func `expiry is checked at once, and then every hour`() {
        var watch = ExpiryWatch()
        let now = MonotonicInstant(nanoseconds: 0)
        let answers = [0, 1, 3599, 3600, 3601, 7200].map { watch.isDue(at: now + .seconds($0)) }
        #expect(answers == [true, false, false, true, false, true])
    }

    @Test func `there is one warning a day for each certificate`() {
        var watch = ExpiryWatch()
        let answers = [(1, 30), (2, 30), (1, 30), (1, 29), (1, 29), (2, 29), (1, -1)].map { id, days in
            watch.mustWarn(of: id, days: Int64(days))
        }
        #expect(answers == [true, true, false, true, false, true, true])
    }
}
