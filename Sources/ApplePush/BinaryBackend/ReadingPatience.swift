import IO

/// How long a gateway may keep the reader of its list waiting: each time, and in all, so that one that lets fall a byte now
/// and then keeps nobody for ever. A value: what the reader does between, such as writing, is not counted.
struct ReadingPatience {
    private let each: Duration
    private var left: Duration

    /// - Parameter each: how long it may be silent.
    init(each: Duration) {
        self.each = each
        // A longer one is for ever, and more than a duration holds.
        left = min(each, .seconds(Int64.max / 30)) * 30
    }

    func deadline(from now: MonotonicInstant) -> MonotonicInstant { now + min(self.each, left) }

    mutating func waited(from start: MonotonicInstant, to end: MonotonicInstant) {
        left = max(.zero, left - (end - start))
    }
}
