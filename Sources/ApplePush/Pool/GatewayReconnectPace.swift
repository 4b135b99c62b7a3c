import CarillonIO

/// Decides when the next connection may be opened. A connection with many answers is replaced at once. Connections with few answers
/// are paced after a burst. A connection without answers delays the next one, longer each time. All delays are random.
struct GatewayReconnectPace {
    /// Connections allowed back to back before pacing starts.
    private static let burst = 16.0
    private static let perSecond = 4.0
    /// How many answers earn another connection.
    private static let answersAConnection = 64.0

    private(set) var failures = 0
    /// No connection may be opened before this time.
    private(set) var earliest: MonotonicInstant?
    /// Connections that may be opened now.
    private var credit = GatewayReconnectPace.burst
    private var counted: MonotonicInstant?

    mutating func dialed(at now: MonotonicInstant, using random: inout some RandomNumberGenerator) {
        let passed = counted.map { (now - $0) / .seconds(1) } ?? 0
        counted = now
        credit = min(Self.burst, credit + passed * Self.perSecond) - 1
        let missing = 1 - credit
        guard missing > 0 else { return }
        earliest = now + .seconds(missing / Self.perSecond * Double.random(in: 1...1.5, using: &random))
    }

    mutating func succeeded(answers: Int) {
        failures = 0
        credit = min(Self.burst, credit + Double(answers) / Self.answersAConnection)
        if credit >= 1 { earliest = nil }
    }

    /// A connection could not be opened, or ended without an answer.
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
