import CarillonIO

/// This machine's clock, with the loop's own timers.
struct LoopClock: LimitClock {
    var now: MonotonicInstant { .now }

    func deadline(in limit: Duration) -> MonotonicInstant { .now + limit }

    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void) {
        _ = loop.schedule(at: instant, action)
    }
}
