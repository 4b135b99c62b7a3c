package import Postgres

/// What the connections of a worker set for themselves, whatever their role or database is set to.
extension WorkerStatements {
    /// A plan that was made while a table was small must not be the wrong one when it is large: everything here goes by an
    /// index, by one plan for all values.
    private static let common: SessionSettings = [
        "enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan",
        "TimeZone": "UTC", "DateStyle": "ISO, MDY", "default_transaction_isolation": "read committed",
        "transaction_timeout": "0", "idle_session_timeout": "0",
    ]

    /// For the connection that all work shares: what waits for somebody's lock holds up all that stands behind it, so it
    /// hardly waits, and is tried again by another way.
    package static let settings = Self.common.with(["lock_timeout": "100ms", "statement_timeout": "30s"])

    /// For the sign of life, which waits its turn: once the lock is gone it must come before anybody who would take over.
    static let lifelineSettings = Self.common.with(["lock_timeout": "0", "statement_timeout": "0"])

    /// For what was refused on the shared connection.
    static let detourSettings = Self.common.with(["lock_timeout": "250ms", "statement_timeout": "2min"])

    /// For what may take long, on a connection of its own.
    static let ownConnectionSettings = Self.common.with(["lock_timeout": "2s", "statement_timeout": "0"])
}
