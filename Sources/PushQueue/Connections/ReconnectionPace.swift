import IO

/// Whether the worker is connected, and how long to wait before each try to connect again: 50 ms at first, then longer, with
/// jitter, so that the workers of a fleet do not come back all at once.
///
/// While no connection can be made, waits grow up to three seconds, so that a fail-over is noticed soon. Where connections
/// end through this side's fault, such as no memory for an answer that would be asked for again and again, waits grow up to
/// half a minute, until a connection has lasted.
struct ReconnectionPace: Sendable {
    static let shortest = Duration.milliseconds(50)
    static let longest = Duration.seconds(3)
    static let longestAfterFaults = Duration.seconds(30)
    /// A connection has proven itself that lasted so many times as long as the wait before it.
    static let proof = 10

    /// The longest wait before the next try, for tries that have failed.
    private var afterFailures = Self.shortest
    /// The longest wait before the next try, for connections that ended through this side's fault.
    private var afterFaults = Self.shortest
    private var connectedAt: MonotonicInstant?

    var isConnected: Bool { connectedAt != nil }

    mutating func connected(at now: MonotonicInstant) {
        afterFailures = Self.shortest
        connectedAt = now
    }

    /// - Parameter isOwnFault: The connection was fine, but this side could not go on with it.
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
