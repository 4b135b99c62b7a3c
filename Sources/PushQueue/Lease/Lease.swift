import CarillonIO

/// How long other workers are certain to regard this one as alive.
///
/// A lease begins when the statement is sent, by the worker's monotonic clock. For the worker it ends half a second early.
struct Lease: Sendable {
    static let margin = Duration.milliseconds(500)

    let duration: Duration
    /// Nil if it is over.
    private(set) var end: MonotonicInstant?

    init(duration: Duration) { self.duration = duration }

    /// Four renewals may be lost.
    var interval: Duration { duration / 5 }

    mutating func granted(askedAt: MonotonicInstant) {
        let end = askedAt + (duration - min(Self.margin, duration / 4))
        self.end = max(self.end ?? end, end)
    }

    /// Others have declared the worker dead.
    mutating func lost() { end = nil }

    func isValid(at now: MonotonicInstant) -> Bool { end.map { now < $0 } ?? false }
}
