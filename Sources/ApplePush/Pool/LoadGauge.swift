import CarillonIO

/// The highest load of the last one to two minutes.
struct LoadGauge {
    static let period: Duration = .seconds(60)

    private var began: MonotonicInstant?
    private var current = 0
    private var before = 0

    /// Nil during the first period.
    private(set) var peak: Int?

    /// When the current period ends.
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

    mutating func reset() { self = Self() }
}
