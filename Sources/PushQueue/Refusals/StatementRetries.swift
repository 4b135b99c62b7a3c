import CarillonIO
import CarillonPostgres

/// The tries of a statement that a flight needs.
struct StatementRetries: Sendable {
    /// How often a statement that PostgreSQL refuses for its content is tried.
    static let tries = 3

    private var last = RefusedStatementPace.LastTry.none
    /// The last one counted as a try of the worker.
    private(set) var isTry = false
    private var backOff = BackOff.statements
    private var contentRefusals = 0

    mutating func failed(
        _ kind: RefusedStatementPace.Kind,
        with error: PostgresError,
        _ state: inout WorkerState,
        at now: MonotonicInstant
    ) {
        last =
            switch error.code {
            case _ where error.isTimeout: .timedOut
            case .server, .unexpectedValue: .refused(content: error.isRefusal)
            default: .none
            }
        guard case .refused(let content) = last else { return }
        state.refusals.refused(kind, isContent: content, isTry: isTry, at: now)
        if content { contentRefusals += 1 }
    }

    /// The statement to repeat has timed out waiting for a lock.
    var timedOut: Bool { if case .timedOut = last { true } else { false } }

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
        let wasTaken = state.refusals.mayAsk(kind, of: app, after: last, at: now)
        isTry = wasTaken ?? true
        return wasTaken == nil ? wait(&state) : nil
    }

    mutating func succeeded(_ kind: RefusedStatementPace.Kind, _ state: inout WorkerState) {
        state.refusals.succeeded(kind)
        backOff.reset()
        // The next statement takes the detour, too.
        if !timedOut { last = .none }
    }
}
