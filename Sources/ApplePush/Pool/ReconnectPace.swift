import IO

/// When the next connection may be made. One that did its work is replaced at once; those that did little may follow one
/// another for a while, and then only so often; one that did none makes the next wait, longer each time. No two that wait
/// wait for the same time.
struct ReconnectPace {
    /// So many connections in a row are nobody's business.
    private static let burst = 16.0
    private static let perSecond = 4.0
    /// So many answers are worth a connection.
    private static let answersAConnection = 64.0

    private(set) var failures = 0
    /// No connection is made before.
    private(set) var earliest: MonotonicInstant?
    /// How many connections may be made at once.
    private var credit = ReconnectPace.burst
    private var counted: MonotonicInstant?

    /// A connection is being made.
    mutating func dialed(at now: MonotonicInstant, using random: inout some RandomNumberGenerator) {
        let passed = counted.map { (now - $0) / .seconds(1) } ?? 0
        counted = now
        credit = min(Self.burst, credit + passed * Self.perSecond) - 1
        let missing = 1 - credit
        guard missing > 0 else { return }
        earliest = now + .seconds(missing / Self.perSecond * Double.random(in: 1...1.5, using: &random))
    }

    /// A connection ended that had carried so many pushes to an answer.
    mutating func succeeded(answers: Int) {
        failures = 0
        credit = min(Self.burst, credit + Double(answers) / Self.answersAConnection)
        if credit >= 1 { earliest = nil }
    }

    /// A connection could not be made, or ended without a single answer.
    mutating func failed(at now: MonotonicInstant, using random: inout some RandomNumberGenerator) {
        failures += 1
        let ceiling: Double =
            switch failures {
            case 1: 0.2
            case 2: 0.6
            default: min(2 * Double(1 << min(failures - 3, 5)), 30)
            }
        let retry = now + .seconds(Double.random(in: ceiling / 2...ceiling, using: &random))
        earliest = max(earliest ?? retry, retry)
    }
}
