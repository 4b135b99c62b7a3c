import CarillonIO
import CarillonPostgres

/// The tries of a statement that a flight needs.
struct StatementRetries: Sendable {
    /// How often a statement that PostgreSQL refuses for its content is tried.
    static let tries = 3

    /// The last try has timed out waiting for a lock.
    private(set) var timedOut = false
    /// PostgreSQL has refused the last try.
    private var wasRefused = false
    /// For its content, so the success of another statement does not predict that of the next try.
    private var contentWasRefused = false
    /// The last try counted as one of the worker's.
    private(set) var isTry = false
    private var backOff = BackOff.statements
    private var contentRefusals = 0

    /// - Parameter kind: What the statement is for.
    mutating func failed(
        _ kind: RefusedStatementPace.Kind,
        with error: PostgresError,
        _ state: inout WorkerState,
        at now: MonotonicInstant
    ) {
        timedOut = error.isTimeout
        // A statement that timed out on a lock needs no further pace: the detour handles such statements one at a time.
        wasRefused = !timedOut && (error.code == .server || error.code == .unexpectedValue)
        if wasRefused { state.refusals.refused(kind, isContent: error.isRefusal, isTry: isTry, at: now) }
        contentWasRefused = wasRefused && error.isRefusal
        if error.isRefusal { contentRefusals += 1 }
    }

    /// False if PostgreSQL has refused the statement for its content in each try.
    var mayRepeat: Bool { contentRefusals < Self.tries }

    /// The wait until the next try. Nil means at once: the worker is no longer connected.
    mutating func wait(_ state: inout WorkerState) -> Duration? { state.retryWait(&backOff) }

    /// The wait before a try that is due, while PostgreSQL refuses such statements. Nil means at once.
    mutating func wait(
        before kind: RefusedStatementPace.Kind,
        of app: Int32,
        _ state: inout WorkerState,
        at now: MonotonicInstant
    ) -> Duration? {
        let appWasRefused = kind == .settlement && state.schedule.refusedSettlements.contains(app)
        isTry =
            appWasRefused || contentWasRefused
            || (wasRefused ? state.refusals.limitsRepeated(kind, at: now) : state.refusals.limits(kind, at: now))
        guard isTry else { return nil }
        let mayTry =
            appWasRefused
            ? state.schedule.refusedSettlements.mayTry(app, at: now, &state.refusals) : state.refusals.take(at: now)
        return mayTry ? nil : wait(&state)
    }

    mutating func succeeded() {
        backOff.reset()
        wasRefused = false
        contentWasRefused = false
    }
}
