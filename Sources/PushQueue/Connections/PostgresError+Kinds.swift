import Postgres

extension PostgresError {
    /// The statement waited for a lock, or for anything, as long as it is allowed to.
    var metLock: Bool { sqlState == "55P03" || sqlState == "57014" }

    /// The server has no memory for so much at once: a limit of its own, a refusal by the system, or one of its allocator,
    /// which counts as an internal error.
    var isAboutSize: Bool {
        guard let sqlState else { return false }
        return sqlState.hasPrefix("54") || sqlState == "53200" || sqlState == "XX000"
    }

    /// Errors of one kind share a line in the log.
    var kind: String {
        switch sqlState {
        case "3F000", "42P01", "42703", "42883": "the schema is missing or has changed"
        case let state: state ?? "\(code)"
        }
    }
}
