import IO

/// The proof that this worker is alive in the eyes of the others.
///
/// Only the worker's own monotonic clock is asked: a lease that was asked for at an instant lasts at least so long from
/// that instant on, whatever the clocks of day say and however long the answer took. Half a second before that end the
/// worker regards it as over.
struct Lease: Sendable {
    static let margin = Duration.milliseconds(500)

    let duration: Duration
    /// When the worker regards it as over; nil: it is.
    private(set) var end: MonotonicInstant?

    init(duration: Duration) {
        self.duration = duration
    }

    /// How often to renew it: four renewals may get lost.
    var interval: Duration { duration / 5 }

    /// The database has granted what was asked for at that instant.
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
