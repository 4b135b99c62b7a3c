import CarillonIO
import CarillonTLS

/// How long a gateway may be silent, each time and in total, so that a gateway that sends a byte now and then cannot hold a reader
/// for ever. The reader's own time between reads is not counted.
struct SilenceAllowance {
    private let each: Duration
    private var left: Duration

    init(each: Duration) {
        self.each = each
        // Thirty times a longer duration would overflow.
        left = min(each, .seconds(Int64.max / 30)) * 30
    }

    func deadline(from now: MonotonicInstant) -> MonotonicInstant { now + min(self.each, left) }

    mutating func waited(from start: MonotonicInstant, to end: MonotonicInstant) {
        left = max(.zero, left - (end - start))
    }
}
