import CarillonIO

/// Limits guesses: a few at once, then one at each interval.
struct AttemptLimit: Sendable {
    let atOnce: Int
    let interval: Duration

    /// When all attempts used so far will be available again.
    private var usedUntil: MonotonicInstant?

    init(atOnce: Int = 5, interval: Duration = .seconds(5)) {
        self.atOnce = atOnce
        self.interval = interval
    }

    /// Returns false if too many attempts were made. A refused attempt does not count.
    mutating func attempt(at now: MonotonicInstant) -> Bool {
        let start = max(usedUntil ?? now, now)
        guard !isUsedUp(at: now) else { return false }
        usedUntil = start + interval
        return true
    }

    func isUsedUp(at now: MonotonicInstant) -> Bool { usedUntil.map { now + interval * (atOnce - 1) < $0 } ?? false }

    /// The password was right, so this attempt was not a guess. Earlier attempts still count: someone who knows the readers'
    /// password must not get more guesses at the operators' password by logging in between.
    mutating func succeeded() { usedUntil = usedUntil.map { $0 + interval * -1 } }

    func isUnused(at now: MonotonicInstant) -> Bool { usedUntil.map { $0 <= now } ?? true }
}
