import TestSupport
import Testing

@testable import ApplePush

@Suite struct DurationHistogramTests {
    @Test func `a duration counts in the first range that it does not exceed`() {
        var times = DurationHistogram()
        times.add(nanoseconds: 1_000_000)
        times.add(nanoseconds: 1_000_001)
        times.add(nanoseconds: .max)
        // Clocks are set back, and users set the times of their rows.
        times.add(nanoseconds: -5)
        #expect(times.counts.prefix(3) == [2, 1, 0])
        #expect(times.counts.last == 1)
        #expect(times.counts.count == DurationHistogram.seconds.count + 1)
        #expect(times.count == 4)
    }

    @Test func `histograms can be added`() {
        var one = DurationHistogram()
        one.add(nanoseconds: 500_000_000)
        var other = one
        other.add(nanoseconds: 250_000_000)
        let before = one
        one += other
        #expect(equalProperties(one, before).isEmpty)
        #expect(one.count == 3)
        #expect(one.sum == 1.25)
        one.removeAll()
        #expect(one == DurationHistogram())
    }
}
