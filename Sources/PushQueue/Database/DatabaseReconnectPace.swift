import CarillonIO

/// Whether the worker is connected, and the waits before it tries to reconnect: 50 ms at first, then longer, with jitter, so
/// that workers do not reconnect all at once.
///
/// While no connection can be made, waits grow to three seconds, so that a failover is noticed soon. If connections end
/// through a fault of the worker, such as rows that are too large for its memory, waits grow to half a minute, until a
/// connection has lasted.
struct DatabaseReconnectPace: Sendable {
    static let shortest = Duration.milliseconds(50)
    static let longest = Duration.seconds(3)
    static let longestAfterFaults = Duration.seconds(30)
    /// A connection has lasted if it lived this many times as long as the longest wait before it.
    static let proof = 10

    private var afterFailures = BackOff(from: Self.shortest, to: Self.longest)
    /// After connections that ended through a fault of the worker.
    private var afterFaults = BackOff(from: Self.shortest, to: Self.longestAfterFaults)
    private var connectedAt: MonotonicInstant?
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// The longest that the next wait may be.
    var maxWait: Duration { max(afterFailures.maxWait, afterFaults.maxWait) }

    var isConnected: Bool { connectedAt != nil }

    mutating func connected(at now: MonotonicInstant) {
        afterFailures.reset()
        connectedAt = now
    }

    /// - Parameter isOwnFault: The connection worked, but the worker could not go on.
    mutating func disconnected(at now: MonotonicInstant, isOwnFault: Bool) {
        guard let connectedAt else { return }
        self.connectedAt = nil
        if now - connectedAt >= afterFaults.maxWait * Self.proof { afterFaults.reset() }
        if isOwnFault { afterFaults.lengthen() }
    }

    mutating func next() -> Duration {
        defer { afterFailures.lengthen() }
        return maxWait * Double.random(in: 0...1, using: &random)
    }
}
