import CarillonPostgres

/// A statement that waited for a lock in vain, for the log.
struct LockTimeout {
    let error: PostgresError
    /// How many more were not logged.
    let suppressed: Int
}
