import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct RepeatedEventsTests {
    private let now = MonotonicInstant(nanoseconds: 0)

    @Test func `the first event of a kind is logged, and then one in each interval with the number of the others`() {
        var errors = RepeatedEvents<String>(interval: .seconds(30))
        var told: [Int: Int] = [:]
        for second in 0..<90 {
            if let times = errors.add(of: "42P01", at: now + .seconds(second)) { told[second] = times }
        }
        #expect(told == [0: 1, 30: 30, 60: 30])
    }

    @Test func `each kind of event is limited by itself`() {
        var errors = RepeatedEvents<String>(interval: .seconds(30))
        let told = ["42P01", "55P03", "42P01"].map { errors.add(2, of: $0, at: now) }
        #expect(told == [2, 2, nil])
    }

    @Test func `the number of kinds of events is limited`() {
        var errors = RepeatedEvents<Int>(interval: .seconds(30))
        let told = (0..<1000).compactMap { errors.add(of: $0, at: now) }
        #expect(told.count == 256)
        let later = errors.add(of: 1000, at: now + .seconds(30))
        #expect(later == 1)
    }
}
