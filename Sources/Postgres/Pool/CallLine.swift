import CarillonIO

/// The queue for a connection that runs one call at a time, as a value.
///
/// A call that has waited too long loses its turn. Otherwise PostgreSQL would run statements for clients that gave up long ago, and
/// delay those still waiting.
struct CallLine<Call> {
    private var isBusy = false
    private var waiting: [(call: Call, since: MonotonicInstant)] = []

    /// Returns true if it is the call's turn. Otherwise a later `ended` returns the call.
    mutating func came(_ call: Call, at now: MonotonicInstant) -> Bool {
        guard isBusy else {
            isBusy = true
            return true
        }
        waiting.append((call, now))
        return false
    }

    /// The running call has ended.
    ///
    /// - Returns: the next call to run, and the calls before it that have waited too long.
    mutating func ended(at now: MonotonicInstant, longestWait: Duration) -> (next: Call?, late: [Call]) {
        let late = waiting.prefix { now - $0.since >= longestWait }.map { $0.call }
        waiting.removeFirst(late.count)
        isBusy = !waiting.isEmpty
        return (isBusy ? waiting.removeFirst().call : nil, late)
    }

    /// No further call will run. Returns the waiting ones.
    mutating func closed() -> [Call] {
        defer { waiting = [] }
        return waiting.map { $0.call }
    }
}
