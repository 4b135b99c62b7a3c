import CarillonIO
import CarillonPostgres

/// Looks for work, or asks whether the worker may sleep. Begins once there is a connection. A value like `Flight`.
struct LookRun: Sendable {
    enum Step: Sendable {
        /// Read changes of apps.
        case refresh
        /// Look for lanes with rows.
        case look
        /// Ask whether the worker may sleep, or go on sleeping.
        case ask
        /// Renew the lease, which tells the fleet that the worker is awake.
        case wake
        /// Only then clear the flag, so that transactions do not notify: a worker that is falling asleep at this moment sets the flag
        /// before it looks whether others are awake.
        case clear
        case over(wait: Duration)
    }

    private(set) var step: Step
    /// The wait before the next run, from the look or `fall_asleep`.
    private var wait: Duration?

    init(in state: inout WorkerState, at now: MonotonicInstant) {
        // A sleeper has not read changes of apps.
        let mayBeOutdated = !state.sleep.isAwake || state.sleep.mustAnnounce
        step = state.asks(at: now) ? .ask : mayBeOutdated ? .refresh : .look
    }

    /// False while changes of apps have to be read first.
    var mayClaim: Bool {
        if case .refresh = step { false } else { true }
    }

    /// The step was done.
    /// - Parameters:
    ///   - wait: After a look, or `fall_asleep`.
    ///   - foundWork: A worker that asked must not sleep.
    mutating func succeeded(_ wait: Duration? = nil, foundWork: Bool = false, in state: inout WorkerState) {
        if case .wake = step {
            step = .clear
            return
        }
        if case .clear = step {
            state.sleep.announced()
            state.succeeded(in: .wake)
        }
        self.wait = wait ?? self.wait
        guard let wait = self.wait else {
            step = .look
            return
        }
        let mustAnnounce = state.sleep.isAwake && state.sleep.mustAnnounce
        step = foundWork ? .refresh : mustAnnounce ? .wake : .over(wait: wait)
    }

    mutating func failed(_ error: PostgresError, in state: inout WorkerState, at now: MonotonicInstant) {
        switch step {
        // It claims with the apps that it knows. A flag that PostgreSQL refuses to clear ends by itself.
        case .refresh where error.code == .server, .clear where error.code == .server: succeeded(in: &state)
        case .wake, .clear: step = .over(wait: max(wait ?? .zero, state.failed(in: .wake)))
        case .ask where error.code == .server:
            state.sleep.failed(at: now)
            // It looks instead.
            succeeded(PollingPace.longest, in: &state)
        case .ask, .refresh, .look, .over:
            if case .ask = step { state.sleep.failed(at: now) }
            // A sleeper would repeat the look at every call, without a pace.
            state.sleep.wake(at: now)
            step = .over(wait: state.failed(in: .look))
        }
    }
}
