import CarillonIO

@testable import ApplePushSimulator

/// A clock that stands still until a test puts it forward.
final class ManualClock: LimitClock {
    private struct Alarm {
        let due: MonotonicInstant
        let loop: EventLoop
        let action: @Sendable () -> Void
    }

    private struct State {
        var now = MonotonicInstant.now
        var alarms: [Alarm] = []
    }

    private let state = Guarded(State())

    var now: MonotonicInstant { state.withLock { $0.now } }

    /// No test waits for real time to pass.
    func deadline(in limit: Duration) -> MonotonicInstant { .now + .seconds(3600) }

    /// Whether an action waits for a later time.
    var isAwaited: Bool { state.withLock { !$0.alarms.isEmpty } }

    func wake(at instant: MonotonicInstant, on loop: EventLoop, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.alarms.append(Alarm(due: instant, loop: loop, action: action)) }
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            let now = state.now + duration
            state.now = now
            defer { state.alarms.removeAll { $0.due <= now } }
            return state.alarms.filter { $0.due <= now }
        }
        for alarm in due { alarm.loop.submit(alarm.action) }
    }
}
