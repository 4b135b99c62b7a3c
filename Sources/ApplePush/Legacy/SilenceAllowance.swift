import CarillonIO

/// How long a gateway may be silent, each time and in total, so that a gateway that sends a byte now and then cannot hold up the
/// other lists for more than two minutes. The reader's own time between reads is not counted.
struct SilenceAllowance {
    private let each: Duration
    private var left = Duration.seconds(120)

    init(each: Duration) { self.each = each }

    func deadline(from now: MonotonicInstant) -> MonotonicInstant { now + min(self.each, left) }

    mutating func waited(from start: MonotonicInstant, to end: MonotonicInstant) {
        left = max(.zero, left - (end - start))
    }
}
