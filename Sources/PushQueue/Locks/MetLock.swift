import Postgres

/// That a statement met a lock, before it is known whose.
struct MetLock: Sendable {
    let error: PostgresError
    /// How many more there were that were not told.
    let untold: Int
}
