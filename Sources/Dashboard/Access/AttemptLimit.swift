import CarillonIO

/// Limits password guesses, of all clients together: a few at once, then one every few seconds.
struct AttemptLimit: Sendable {
    static let atOnce = 5
    static let interval = Duration.seconds(5)

    /// When all attempts used so far will be available again.
    private var usedUntil: MonotonicInstant?

    /// Returns false if too many attempts were made. A refused attempt does not count.
    mutating func attempt(at now: MonotonicInstant) -> Bool {
        let start = max(usedUntil ?? now, now)
        guard now + Self.interval * (Self.atOnce - 1) >= start else { return false }
        usedUntil = start + Self.interval
        return true
    }

    /// The password was right, so this attempt was not a guess. Earlier attempts still count: someone who knows the readers'
    /// password must not get more guesses at the operators' password by logging in between.
    mutating func succeeded() { usedUntil = usedUntil.map { $0 + Self.interval * -1 } }
}
