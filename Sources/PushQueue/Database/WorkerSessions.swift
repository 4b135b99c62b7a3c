package import CarillonPostgres

/// The settings of a worker's sessions, whatever their role or database has set.
package enum WorkerSessions {
    /// One plan for all values, by an index: a plan made while a table was small would be wrong when it is large.
    private static let common = SessionSettings.safe.with([
        "enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan",
        "TimeZone": "UTC", "DateStyle": "ISO, MDY", "transaction_timeout": "0", "idle_session_timeout": "0",
        "idle_in_transaction_session_timeout": "1min",
    ])

    /// For the shared connection: a statement that waits for a lock delays all behind it, so it soon fails and is tried again
    /// on the detour.
    package static let shared = Self.common.with(["lock_timeout": "100ms", "statement_timeout": "30s"])

    /// For heartbeats. They wait for locks without limit, so that they precede any takeover once the lock is gone.
    static let lifeline = Self.common.with(["lock_timeout": "0", "statement_timeout": "0"])

    /// For statements that timed out on a lock on the shared connection.
    static let detour = Self.common.with(["lock_timeout": "250ms", "statement_timeout": "2min"])

    /// For work that may take long.
    static let own = Self.common.with(["lock_timeout": "2s", "statement_timeout": "0"])
}
