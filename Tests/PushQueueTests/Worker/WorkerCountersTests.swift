import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct WorkerCountersTests {
    private func settlement(_ reason: Int) -> Settlement {
        var claim = ClaimBuilder()
        claim.add(tokens: ["aa"])
        var outcomes = Outcomes(repeating: .accepted, count: 1)
        outcomes[0] = Outcome(.rejected, status: 400, reason: outcomes.reason(named: "Invented\(reason)"))
        var generator = SeededGenerator(seed: 1)
        return Settlement(claim.jobs, outcomes, policy: RetryPolicy(), maxAttempts: 3, now: 0, using: &generator)
    }

    @Test func `invented reasons do not make the counters grow`() {
        var counters = WorkerCounters()
        for reason in 0..<1000 { counters.add(settlement(reason), of: 1) }
        for _ in 0..<10 { counters.add(settlement(3), of: 1) }
        #expect(counters.failures.count == 65)
        #expect(counters.failures.values.reduce(0, +) == 1010)
        #expect(counters.failures[WorkerCounters.OutcomeKey(app: 1, status: 400, reason: "Invented3")] == 11)
    }

    @Test func `a worker is ready when it is connected, its database answers, and its lease is valid`() {
        var counters = WorkerCounters()
        let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        #expect(counters.readiness(at: now) == .disconnected)
        counters.isConnected = true
        counters.answeredAt = now
        counters.leaseEnd = now + .seconds(14)
        #expect(counters.readiness(at: now + .seconds(3)) == .ready)
        #expect(counters.readiness(at: now + .seconds(4)) == .silent)
        counters.answeredAt = now + .seconds(13)
        #expect(counters.readiness(at: now + .seconds(13)) == .ready)
        #expect(counters.readiness(at: now + .seconds(14)) == .leaseUnproven)
        WorkerEvent.databaseLost("cut").count(&counters)
        #expect(counters.readiness(at: now) == .disconnected)
    }

    @Test func `a sleeping worker is ready without a lease, as long as its slow looks are answered`() {
        var counters = WorkerCounters()
        let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        counters.isConnected = true
        counters.answeredAt = now
        counters.leaseEnd = now + .seconds(14)
        counters.asleepSince = now
        #expect(counters.readiness(at: now + .seconds(34)) == .ready)
        #expect(counters.readiness(at: now + .seconds(35)) == .silent)
        counters.asleepSince = nil
        #expect(counters.readiness(at: now + .seconds(14)) == .silent)
    }

    @Test func `messages of apps that do not exist do not make the counters grow`() {
        var counters = WorkerCounters()
        for app in 1...1000 { counters.add(settlement(0), of: Int32(app)) }
        #expect(counters.apps.count <= 101)
        #expect(counters.total.failed == 1000)
    }
}
