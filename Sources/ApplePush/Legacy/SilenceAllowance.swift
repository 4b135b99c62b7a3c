import CarillonIO

/// How long a list may take: each silence of its gateway, and all of it. Neither a gateway that sends a byte now and then nor one that
/// sends without an end can hold up the other lists for longer. The reader's own time for a piece counts as a second at most, because
/// no gateway is to blame while the database is awaited.
struct SilenceAllowance {
    static let total = Duration.seconds(120)
    private static let longestWork = Duration.seconds(1)

    private let each: Duration
    private var left: Duration
    /// When the last wait ended.
    private var waitedUntil: MonotonicInstant?

    init(each: Duration, total: Duration = Self.total) {
        self.each = each
        left = total
    }

    var isOver: Bool { left == .zero }

    func deadline(from now: MonotonicInstant) -> MonotonicInstant { now + min(self.each, left) }

    mutating func waited(from start: MonotonicInstant, to end: MonotonicInstant) {
        let work = waitedUntil.map { min(max(.zero, start - $0), Self.longestWork) } ?? .zero
        left = max(.zero, left - work - (end - start))
        waitedUntil = end
    }
}
