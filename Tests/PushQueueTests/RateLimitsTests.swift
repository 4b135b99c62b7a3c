import IO
import Testing

@testable import PushQueue

@Suite struct RateLimitsTests {
    @Test func `a worker keeps to its share of the rate`() {
        var limits = RateLimits()
        var now = MonotonicInstant(nanoseconds: 0)
        var sent = 0
        for _ in 0..<100 {
            let may = limits.available(to: 1, rate: 1000, workers: 4, at: now)
            limits.spend(may, of: 1)
            sent += may
            now = now + .milliseconds(100)
        }
        // Ten seconds at a quarter of 1000 a second.
        #expect((2400...2700).contains(sent))
    }

    @Test func `a rate of one is not nothing`() {
        var limits = RateLimits()
        do {
            let may = limits.available(to: 1, rate: 1, workers: 9, at: MonotonicInstant(nanoseconds: 0))
            #expect(may == 0)
        }
        do {
            let may = limits.available(to: 1, rate: 1, workers: 9, at: MonotonicInstant(nanoseconds: 20_000_000_000))
            #expect(may == 1)
        }
    }

    @Test func `a large row leaves a debt`() {
        var limits = RateLimits()
        _ = limits.available(to: 1, rate: 100, workers: 1, at: MonotonicInstant(nanoseconds: 0))
        limits.spend(1000, of: 1)
        do {
            let may = limits.available(to: 1, rate: 100, workers: 1, at: MonotonicInstant(nanoseconds: 5_000_000_000))
            #expect(may < 0)
        }
    }
}
