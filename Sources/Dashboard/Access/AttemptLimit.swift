import CarillonIO

/// Limits guesses of the password, of all clients together: few at once, and then one every few seconds.
struct AttemptLimit: Sendable {
    static let atOnce = 5
    static let interval = Duration.seconds(5)

    /// When the attempts that were used will have been given back.
    private var usedUntil: MonotonicInstant?

    /// False: too many attempts were made. An attempt that is refused does not count.
    mutating func attempt(at now: MonotonicInstant) -> Bool {
        let start = max(usedUntil ?? now, now)
        guard now + Self.interval * (Self.atOnce - 1) >= start else { return false }
        usedUntil = start + Self.interval
        return true
    }

    /// The password was right, so this attempt was no guess. Earlier ones were: whoever knows the readers' password must not
    /// guess the operators' more often by giving it in between.
    mutating func succeeded() { usedUntil = usedUntil.map { $0 + Self.interval * -1 } }
}
