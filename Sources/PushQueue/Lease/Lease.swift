import IO

/// How long the other workers are sure to regard this one as alive.
///
/// A lease lasts from the instant at which it was asked for, by the worker's monotonic clock, however long the answer took.
/// The worker regards it as over half a second earlier.
struct Lease: Sendable {
    static let margin = Duration.milliseconds(500)

    let duration: Duration
    /// When the worker regards it as over; nil: it is over.
    private(set) var end: MonotonicInstant?

    init(duration: Duration) {
        self.duration = duration
    }

    /// How often to renew it. Four renewals may get lost.
    var interval: Duration { duration / 5 }

    mutating func granted(askedAt: MonotonicInstant) {
        let end = askedAt + (duration - min(Self.margin, duration / 4))
        self.end = max(self.end ?? end, end)
    }

    /// Others have declared the worker dead.
    mutating func lost() {
        end = nil
    }

    func holds(at now: MonotonicInstant) -> Bool {
        end.map { now < $0 } ?? false
    }
}
