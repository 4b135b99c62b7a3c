import Postgres

extension PostgresError {
    /// The server has not the memory for so much at once: a limit of the program's, a refusal by the system, or one of its
    /// own allocator, which counts as an internal error.
    var isAboutSize: Bool {
        guard let sqlState else { return false }
        return sqlState.hasPrefix("54") || sqlState == "53200" || sqlState == "XX000"
    }
}
