import IO

/// How many pushes each app that has a `max_rate` may claim: its share of it, the fleet's workers having equal ones,
/// saved up for a second at the most.
struct RateLimits: Sendable {
    private struct Purse {
        var pushes: Double
        var filledAt: MonotonicInstant
    }

    private var purses: [Int32: Purse] = [:]

    /// What is in the purse.
    mutating func available(to app: Int32, rate: Int32, workers: Int, at now: MonotonicInstant) -> Int {
        let rate = Double(rate) / Double(max(1, workers))
        var purse = self.purses[app] ?? Purse(pushes: rate / 4, filledAt: now)
        let seconds = Double((now - purse.filledAt).nanoseconds) / 1e9
        purse.pushes = min(max(1, rate), purse.pushes + rate * seconds)
        purse.filledAt = now
        self.purses[app] = purse
        return Int(purse.pushes.rounded(.down))
    }

    /// When there will be a push in a purse that has none.
    func refill(of app: Int32, rate: Int32, workers: Int, at now: MonotonicInstant) -> MonotonicInstant {
        guard let purse = self.purses[app] else { return now }
        let missing = max(0, 1 - purse.pushes) * Double(max(1, workers)) / Double(max(1, rate))
        return now + .milliseconds(1) + .seconds(min(missing, 1))
    }

    /// Takes out what was claimed, or puts back what was not; a large row leaves a debt.
    mutating func spend(_ pushes: Int, of app: Int32) {
        self.purses[app]?.pushes -= Double(pushes)
    }
}
