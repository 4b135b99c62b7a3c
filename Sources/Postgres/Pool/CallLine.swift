import CarillonIO

/// Whose turn it is on a connection that does one call at a time, as a value.
///
/// A call that has waited too long loses its turn. Otherwise PostgreSQL would run statements for clients that have given up long
/// ago, while those that still wait wait longer.
struct CallLine<Call> {
    private var isBusy = false
    private var waiting: [(call: Call, since: MonotonicInstant)] = []

    /// True: it is its turn. False: `ended` will say what becomes of it.
    mutating func came(_ call: Call, at now: MonotonicInstant) -> Bool {
        guard isBusy else {
            isBusy = true
            return true
        }
        waiting.append((call, now))
        return false
    }

    /// The call whose turn it was has ended.
    ///
    /// - Returns: the call whose turn is next, and those before it that have waited too long.
    mutating func ended(at now: MonotonicInstant, longestWait: Duration) -> (next: Call?, late: [Call]) {
        let late = waiting.prefix { now - $0.since >= longestWait }.map { $0.call }
        waiting.removeFirst(late.count)
        isBusy = !waiting.isEmpty
        return (isBusy ? waiting.removeFirst().call : nil, late)
    }

    /// Nobody will have a turn again.
    mutating func closed() -> [Call] {
        defer { waiting = [] }
        return waiting.map { $0.call }
    }
}
