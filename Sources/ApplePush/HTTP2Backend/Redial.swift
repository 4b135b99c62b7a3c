import IO

/// When the next connection may be tried. Those that did their work are replaced at once; those that did none make the
/// next one wait, longer each time and never for the same time as others do.
struct Redial {
    private(set) var failures = 0
    private(set) var earliest: MonotonicInstant?

    /// A connection carried pushes to an answer.
    mutating func succeeded() {
        self.failures = 0
        self.earliest = nil
    }

    /// A connection could not be made, or ended without a single answer.
    mutating func failed(at now: MonotonicInstant, using random: inout some RandomNumberGenerator) {
        self.failures += 1
        let ceiling: Double =
            switch self.failures {
            case 1: 0.2
            case 2: 0.6
            default: min(2 * Double(1 << min(self.failures - 3, 5)), 30)
            }
        self.earliest = now + .seconds(Double.random(in: ceiling / 2...ceiling, using: &random))
    }
}
