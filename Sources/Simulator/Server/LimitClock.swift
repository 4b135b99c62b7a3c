import IO

/// What the time limits of connections are measured by.
protocol LimitClock: Sendable {
    var now: MonotonicInstant { get }

    /// Calls the action on the loop, on which the caller is, once that instant has come.
    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void)
}

/// The time of this machine, and the loop's own timers.
struct LoopClock: LimitClock {
    var now: MonotonicInstant { .now }

    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void) {
        _ = loop.schedule(at: instant, action)
    }
}
