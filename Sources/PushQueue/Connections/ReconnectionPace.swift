import IO

/// How long to wait before each try to connect again: hardly at all at first, then more rarely, and jittered, so that a
/// fleet does not come back all at once.
///
/// While no connection can be made, waits end at three seconds, so that a fail-over is noticed soon. It is another thing
/// when this side cannot go on with its connections, for want of memory for an answer, say: it would ask for that answer
/// again and again. Then they become rarer too, down to one in half a minute, until one has lasted.
struct ReconnectionPace: Sendable {
    static let shortest = Duration.milliseconds(50)
    static let longest = Duration.seconds(3)
    static let longestAfterFaults = Duration.seconds(30)
    /// A connection that lasted so many times as long as the longest wait before it has proven itself.
    static let proof = 10

    /// The longest wait before the next try, for tries that have failed.
    private var afterFailures = Self.shortest
    /// The longest wait before the next try, for connections that ended through this side's fault.
    private var afterFaults = Self.shortest
    private var connectedAt: MonotonicInstant?

    mutating func connected(at now: MonotonicInstant) {
        afterFailures = Self.shortest
        connectedAt = now
    }

    mutating func disconnected(at now: MonotonicInstant, isOwnFault: Bool) {
        guard let connectedAt else { return }
        self.connectedAt = nil
        if now - connectedAt >= afterFaults * Self.proof { afterFaults = Self.shortest }
        if isOwnFault { afterFaults = min(afterFaults * 2, Self.longestAfterFaults) }
    }

    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let wait = max(afterFailures, afterFaults) * Double.random(in: 0...1, using: &generator)
        afterFailures = min(afterFailures * 2, Self.longest)
        return wait
    }
}
