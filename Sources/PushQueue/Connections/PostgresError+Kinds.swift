import CarillonPostgres

extension PostgresError {
    /// The lock timeout or the statement timeout has passed.
    var metLock: Bool { sqlState == "55P03" || sqlState == "57014" }

    /// The statement is too large for the server. Its allocator reports that as an internal error.
    var isAboutSize: Bool {
        guard let sqlState else { return false }
        return sqlState.hasPrefix("54") || sqlState == "53200" || sqlState == "XX000"
    }

    /// Errors of one kind are logged together.
    var kind: String {
        switch sqlState {
        case "3F000", "42P01", "42703", "42883": "the schema is missing or has changed"
        case let state: state ?? "\(code)"
        }
    }
}
