import CarillonIO

/// The clock for the time limits of connections.
protocol LimitClock: Sendable {
    var now: MonotonicInstant { get }

    /// When a wait of at most this long must end, on this machine's clock.
    func deadline(in limit: Duration) -> MonotonicInstant

    /// Calls the action at that instant on the loop, which must be the caller's own.
    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void)
}
