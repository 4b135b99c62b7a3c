import IO

/// Which errors of the database are worth a line in the log: the first of its kind at once, and while it goes on one line
/// now and then that says how many there were.
struct RepeatedErrors: Sendable {
    /// How far apart the lines about one kind of error are, at least.
    static let interval = Duration.seconds(30)

    private struct Kind {
        var toldAt: MonotonicInstant
        var untold = 0
    }

    private var kinds: [String: Kind] = [:]

    /// One of that kind came. How many came before it and were not told; nil: neither is this one, for now.
    mutating func heard(_ kind: String, at now: MonotonicInstant) -> Int? {
        if let known = kinds[kind], now - known.toldAt < Self.interval {
            kinds[kind]?.untold += 1
            return nil
        }
        let untold = kinds[kind]?.untold ?? 0
        // There are few kinds, SQLSTATEs mostly.
        kinds[kind] = Kind(toldAt: now)
        return untold
    }
}
