import CarillonIO

/// The clock of the time limits of connections.
protocol LimitClock: Sendable {
    var now: MonotonicInstant { get }

    /// When a wait of at most this long must end, by the clock of this machine.
    func deadline(in limit: Duration) -> MonotonicInstant

    /// Calls the action on the loop, which the caller is on, at that instant.
    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void)
}
