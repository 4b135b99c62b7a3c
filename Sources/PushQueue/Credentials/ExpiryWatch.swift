import IO

/// When certificates that end soon are looked for, and which warnings were given: one a day for each.
struct ExpiryWatch: Sendable {
    private static let interval = Duration.seconds(3600)

    private var due: MonotonicInstant?
    private var warned: [Int32: Int64] = [:]

    /// Whether it is time to look; then the next time is an hour away.
    mutating func isDue(at now: MonotonicInstant) -> Bool {
        if let due, now < due { return false }
        self.due = now + Self.interval
        return true
    }

    /// Whether to say that so many days are left.
    mutating func mustWarn(of certificate: Int32, days: Int64) -> Bool {
        warned.updateValue(days, forKey: certificate) != days
    }
}
