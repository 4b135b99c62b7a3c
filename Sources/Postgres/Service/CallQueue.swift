package import CarillonIO

/// The queue for a connection that runs one call at a time, as a value.
///
/// A call that has waited too long is not run. Otherwise PostgreSQL would run statements for clients that gave up long ago, and
/// delay those still waiting.
package struct CallQueue<Call> {
    private var queue = AccessQueue<(call: Call, since: MonotonicInstant)>(places: 1)

    package init() {}

    /// Returns true if the call may run. Otherwise a later `ended` returns the call.
    package mutating func came(_ call: Call, at now: MonotonicInstant) -> Bool { queue.join((call, now)) }

    /// The running call has ended.
    ///
    /// - Returns: the next call to run, and the calls before it that have waited too long.
    package mutating func ended(at now: MonotonicInstant, longestWait: Duration) -> (next: Call?, late: [Call]) {
        var late: [Call] = []
        while let next = queue.leave() {
            if now - next.since < longestWait { return (next.call, late) }
            late.append(next.call)
        }
        return (nil, late)
    }

    /// No further call will run. Returns the waiting ones.
    package mutating func closed() -> [Call] { queue.dismiss().map(\.call) }
}
