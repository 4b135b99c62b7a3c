import IO

/// The most that there was at a time, in the last minute or two.
struct LoadGauge {
    static let period: Duration = .seconds(60)

    private var began: MonotonicInstant?
    private var current = 0
    private var before = 0

    /// Nil until a whole period was watched.
    private(set) var peak: Int?

    /// When a period will be over; nil while nothing was watched.
    var due: MonotonicInstant? { began.map { $0 + Self.period } }

    mutating func note(_ load: Int, at now: MonotonicInstant) {
        guard let began = self.began else {
            self.began = now
            current = load
            return
        }
        current = max(current, load)
        if now - began >= Self.period {
            self.peak = max(before, current)
            before = current
            current = load
            self.began = now
        } else if let peak = self.peak, load > peak {
            self.peak = load
        }
    }

    /// Begins anew, as after something that changes what the load may be.
    mutating func reset() { self = Self() }
}
