import CarillonPostgres

extension PostgresError {
    /// The lock timeout or the statement timeout has passed.
    var isTimeout: Bool { sqlState == SQLState.lockNotAvailable || sqlState == SQLState.queryCanceled }

    /// Other transactions were in the way.
    var isConflict: Bool { sqlState?.hasPrefix("40") ?? false }

    /// The statement may be too large for the server, so a smaller one may succeed.
    var isAboutSize: Bool { isTooLarge || sqlState == SQLState.outOfMemory || sqlState == SQLState.internalError }

    /// The statement is too large for any server. The allocator reports that as an internal error; most others of these pass.
    var isTooLarge: Bool {
        (sqlState?.hasPrefix("54") ?? false) && !isOfNotifications
            || (sqlState == SQLState.internalError && message.hasPrefix("invalid memory alloc request size"))
    }

    /// Errors of one kind are logged together.
    var kind: String {
        guard let sqlState else { return "\(code)" }
        return SQLState.wrongSchema.contains(sqlState) ? "the schema is missing or has changed" : sqlState
    }
}
