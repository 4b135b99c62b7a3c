import CarillonIO

/// When to look for certificates that expire soon, and which warnings were logged: one a day for each.
struct ExpiryState: Sendable {
    private static let interval = Duration.seconds(3600)

    private var due: MonotonicInstant?
    private var warned: [Int32: Int64] = [:]

    /// A credential may have changed.
    mutating func changed() { due = nil }

    func isPending(at now: MonotonicInstant) -> Bool { due.map { $0 <= now } ?? true }

    /// Returns whether to search now. The next search is then due in an hour.
    mutating func isDue(at now: MonotonicInstant) -> Bool {
        guard isPending(at: now) else { return false }
        self.due = now + Self.interval
        return true
    }

    mutating func mustWarn(of certificate: Int32, days: Int64) -> Bool {
        warned.updateValue(days, forKey: certificate) != days
    }
}
