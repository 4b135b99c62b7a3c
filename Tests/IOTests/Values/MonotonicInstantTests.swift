import CarillonIO
import Testing

@Suite struct MonotonicInstantTests {
    @Test func `time goes forward`() {
        let first = MonotonicInstant.now
        #expect(first <= MonotonicInstant.now)
        #expect(first + .seconds(1) - first == .seconds(1))
        #expect(first + .milliseconds(-5) < first)
    }

    @Test func `sums and differences saturate`() {
        let now = MonotonicInstant.now
        #expect(now + .seconds(Int64.max) == .distantFuture)
        #expect(MonotonicInstant.distantFuture + .seconds(1) == .distantFuture)
        #expect(MonotonicInstant(nanoseconds: .min) - .distantFuture == .nanoseconds(Int64.min))
    }

    @Test(arguments: [
        (Duration.milliseconds(1500), 1_500_000_000), (.nanoseconds(-7), -7), (.seconds(-2), -2_000_000_000),
    ])
    func `a duration has a number of nanoseconds`(duration: Duration, nanoseconds: Int) {
        #expect(duration.nanoseconds == Int64(nanoseconds))
    }
}
