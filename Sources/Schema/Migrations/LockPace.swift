import CarillonIO

/// When to retry a change of the schema that could not get a lock.
///
/// Other sessions queue behind a change that waits for the lock of a table. So each wait is short, and a pause lets them pass.
struct LockPace {
    /// Applies to the rest of the transaction.
    static let limit = "SET LOCAL lock_timeout = '100ms';\n"

    private static let giveUpAfter = Duration.seconds(10)

    private var pause = BackOff(from: .milliseconds(50), to: .milliseconds(500))
    private var giveUpAt: MonotonicInstant?

    /// How long to let others go on, or nil if the change has been tried for long enough.
    mutating func waitedInVain(
        at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        let giveUpAt = self.giveUpAt ?? now + Self.giveUpAfter
        self.giveUpAt = giveUpAt
        return now < giveUpAt ? pause.next(using: &generator) : nil
    }
}
