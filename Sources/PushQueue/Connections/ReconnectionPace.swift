import CarillonIO

/// Whether the worker is connected, and the waits before it tries to reconnect: 50 ms at first, then longer, with jitter, so
/// that workers do not reconnect all at once.
///
/// While no connection can be made, waits grow to three seconds, so that a fail-over is noticed soon. If connections end
/// through a fault of the worker, such as an answer that is too large for its memory, waits grow to half a minute, until a
/// connection has lasted.
struct ReconnectionPace: Sendable {
    static let shortest = Duration.milliseconds(50)
    static let longest = Duration.seconds(3)
    static let longestAfterFaults = Duration.seconds(30)
    /// A connection has lasted if it lived this many times as long as the longest wait before it.
    static let proof = 10

    /// The longest wait after failed tries.
    private var afterFailures = Self.shortest
    /// The longest wait after connections that ended through a fault of the worker.
    private var afterFaults = Self.shortest
    private var connectedAt: MonotonicInstant?

    var isConnected: Bool { connectedAt != nil }

    mutating func connected(at now: MonotonicInstant) {
        afterFailures = Self.shortest
        connectedAt = now
    }

    /// - Parameter isOwnFault: The connection worked, but the worker could not go on.
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
