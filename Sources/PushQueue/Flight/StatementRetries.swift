import CarillonIO
import CarillonPostgres

/// The tries of a statement that a flight needs.
struct StatementRetries: Sendable {
    /// How often a statement that PostgreSQL rejects for its content is tried.
    static let tries = 3

    /// The last try has timed out waiting for a lock.
    private(set) var metLock = false
    private var backOff = BackOff.statements
    private var rejections = 0

    /// Returns false if PostgreSQL has rejected the statement for its content in each try.
    mutating func mayRepeat(after error: PostgresError) -> Bool {
        if !error.isTransient { rejections += 1 }
        return rejections < Self.tries
    }

    /// The wait until the next try. Nil means at once: the worker is no longer connected.
    mutating func wait(after error: PostgresError, _ state: inout WorkerState) -> Duration? {
        metLock = error.metLock
        return state.retryWait(&backOff)
    }

    mutating func resetBackOff() { backOff.reset() }
}
