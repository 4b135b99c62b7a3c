package import CarillonIO

/// Limits events that repeat: the first is logged at once, then one in each interval, with the number since the one before.
package struct RepeatedEvents<Key: Hashable & Sendable>: Sendable {
    private struct Entry {
        var loggedAt: MonotonicInstant
        var suppressed = 0
    }

    /// A gateway may invent any number of reasons. Further kinds in one interval are not logged.
    private static var maxKinds: Int { 256 }

    private let interval: Duration
    private var entries: [Key: Entry] = [:]

    package init(interval: Duration) { self.interval = interval }

    /// Returns the number of times to log, or nil if it was logged less than an interval ago.
    package mutating func add(_ times: Int = 1, of key: Key, at now: MonotonicInstant) -> Int? {
        if var entry = entries[key] {
            entry.suppressed += times
            guard now - entry.loggedAt >= interval else {
                entries[key] = entry
                return nil
            }
            entries[key] = Entry(loggedAt: now)
            return entry.suppressed
        }
        if entries.count >= Self.maxKinds {
            entries = entries.filter { now - $0.value.loggedAt < interval }
            guard entries.count < Self.maxKinds else { return nil }
        }
        entries[key] = Entry(loggedAt: now)
        return times
    }
}
