import CarillonPostgres

extension PostgresError {
    /// The lock timeout or the statement timeout has passed.
    var isTimeout: Bool { sqlState == "55P03" || sqlState == "57014" }

    /// Other transactions were in the way.
    var isConflict: Bool { sqlState?.hasPrefix("40") ?? false }

    /// The statement may be too large for the server, so a smaller one may succeed.
    var isAboutSize: Bool { isTooLarge || sqlState == "53200" || sqlState == "XX000" }

    /// The statement is too large for any server. The allocator reports that as an internal error; most others of these pass.
    var isTooLarge: Bool {
        sqlState?.hasPrefix("54") ?? false
            || (sqlState == "XX000" && message.hasPrefix("invalid memory alloc request size"))
    }

    /// Errors of one kind are logged together.
    var kind: String {
        switch sqlState {
        case "3F000", "42P01", "42703", "42883": "the schema is missing or has changed"
        case let state: state ?? "\(code)"
        }
    }
}
