import CarillonIO
import CarillonTLS

/// How long a gateway may be silent: each time, and in all, so that one that sends a byte now and then does not keep a
/// reader for ever. What the reader does between is not counted.
struct SilenceAllowance {
    private let each: Duration
    private var left: Duration

    init(each: Duration) {
        self.each = each
        // Thirty times a longer one would overflow.
        left = min(each, .seconds(Int64.max / 30)) * 30
    }

    func deadline(from now: MonotonicInstant) -> MonotonicInstant { now + min(self.each, left) }

    mutating func waited(from start: MonotonicInstant, to end: MonotonicInstant) {
        left = max(.zero, left - (end - start))
    }
}
