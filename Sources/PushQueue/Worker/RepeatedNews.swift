import IO

/// What happens again and again, and is told at once the first time and then once in an interval, with how often it happened
/// meanwhile.
struct RepeatedNews<Key: Hashable & Sendable>: Sendable {
    private struct Entry {
        var toldAt: MonotonicInstant
        var untold = 0
    }

    /// A gateway may invent reasons without end. Of more kinds than that in one interval, the rest is not told.
    private static var most: Int { 256 }

    private let interval: Duration
    private var entries: [Key: Entry] = [:]

    init(interval: Duration) {
        self.interval = interval
    }

    /// It happened so many times more. How many to tell of; nil: it was told a short while ago.
    mutating func add(_ times: Int = 1, of key: Key, at now: MonotonicInstant) -> Int? {
        if var entry = entries[key] {
            entry.untold += times
            guard now - entry.toldAt >= interval else {
                entries[key] = entry
                return nil
            }
            entries[key] = Entry(toldAt: now)
            return entry.untold
        }
        if entries.count >= Self.most {
            entries = entries.filter { now - $0.value.toldAt < interval }
            guard entries.count < Self.most else { return nil }
        }
        entries[key] = Entry(toldAt: now)
        return times
    }
}
