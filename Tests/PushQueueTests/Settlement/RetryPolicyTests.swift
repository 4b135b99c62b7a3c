import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct RetryPolicyTests {
    @Test(arguments: [Int16(1), 2, 5, 12, .max]) func `back-off doubles up to the cap, with full jitter`(attempt: Int16)
    {
        let policy = RetryPolicy(base: .seconds(5), cap: .seconds(900))
        var generator = SeededGenerator(seed: UInt64(attempt))
        let ceiling = attempt > 8 ? 900.0 : 5.0 * Double(1 << (attempt - 1))
        let delays = (0..<1000).map { _ in policy.delay(after: attempt, retryAfter: nil, using: &generator).seconds }
        #expect(delays.allSatisfy { $0 >= 0 && $0 <= ceiling })
        #expect((delays.min() ?? 1) < ceiling * 0.05)
        #expect((delays.max() ?? 0) > ceiling * 0.95)
    }

    @Test func `a retry is never due before the gateway's Retry-After`() {
        let policy = RetryPolicy()
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<100 {
            let delay = policy.delay(after: 1, retryAfter: 120, using: &generator)
            #expect(delay >= .seconds(120))
            #expect(delay <= .seconds(125))
        }
    }

    @Test func `no retry waits much longer than a day`() {
        var generator = SeededGenerator(seed: 8)
        let delay = RetryPolicy().delay(after: 1, retryAfter: .max, using: &generator)
        #expect(delay <= .seconds(86405))
    }
}
