import IO

/// What the time limits of connections are measured by.
protocol LimitClock: Sendable {
    var now: MonotonicInstant { get }

    /// When something must be done that may take that long from now on, by the clock of this machine.
    func deadline(in limit: Duration) -> MonotonicInstant

    /// Calls the action on the loop, on which the caller is, once that instant has come.
    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void)
}

/// The time of this machine, and the loop's own timers.
struct LoopClock: LimitClock {
    var now: MonotonicInstant { .now }

    func deadline(in limit: Duration) -> MonotonicInstant { .now + limit }

    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void) {
        _ = loop.schedule(at: instant, action)
    }
}
