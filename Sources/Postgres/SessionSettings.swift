import CarillonIO

/// Settings for every statement of a session, directly or through a pooler.
///
/// A pooler may run each transaction in a different server process. Behind one, the settings are therefore sent with every
/// statement, last for its transaction, and do not affect other users of the pool.
package struct SessionSettings: Sendable, ExpressibleByDictionaryLiteral {
    package let pairs: [(name: String, value: String)]

    /// What every session needs, whatever the role, the database or earlier users of a pooled session have set.
    package static let safe: SessionSettings = [
        // What names without a schema mean: nobody else may create objects in the first two schemas. Without its name in the list,
        // the temporary schema would be searched first.
        "search_path": "pg_catalog, carillon, pg_temp",
        // If it were off, each statement on a table with policies would fail.
        "row_security": "on",
        // What a backslash in a string means.
        "standard_conforming_strings": "on",
        // Statements see what others have committed before them. A standby refuses every query of a serializable transaction.
        "default_transaction_isolation": "read committed",
    ]

    /// Overrides the settings of the role and the database, whose timeouts could end a command half-way.
    package static let unhurried = Self.safe.with([
        "statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0",
        "transaction_timeout": "0", "idle_session_timeout": "0", "TimeZone": "UTC", "DateStyle": "ISO, MDY",
        // JIT compilation would cost more than the statements themselves.
        "jit": "off",
    ])

    package init(dictionaryLiteral elements: (String, String)...) { pairs = elements }

    private init(_ pairs: [(name: String, value: String)]) { self.pairs = pairs }

    /// The versions of PostgreSQL that introduced settings; older servers refuse them.
    private static let introductions = ["transaction_timeout": 170_000]

    /// The settings that a server of that version supports.
    package func known(to serverVersion: Int) -> SessionSettings {
        SessionSettings(pairs.filter { Self.introductions[$0.name, default: 0] <= serverVersion })
    }

    /// These settings and the others, which override those of the same name.
    package func with(_ others: SessionSettings) -> SessionSettings {
        let names = Set(others.pairs.map(\.name))
        return SessionSettings(pairs.filter { !names.contains($0.name) } + others.pairs)
    }

    /// These settings, and how long the server lets a statement run.
    package func limited(to statementTimeout: Duration) -> SessionSettings {
        with(["statement_timeout": "\(statementTimeout.nanoseconds / 1_000_000)ms"])
    }

    var isEmpty: Bool { pairs.isEmpty }

    /// The statements executed first in each transaction behind a pooler.
    var openings: [String] { isolation + [forTransaction] }

    /// A statement that gives a transaction that has already begun its isolation, for which setting the default would be too late.
    /// It must precede any query.
    var isolation: [String] {
        let isolation = pairs.last { $0.name == "default_transaction_isolation" }
        return isolation.map { ["SET transaction_isolation TO \(Self.quoted($0.value))"] } ?? []
    }

    /// A statement that sets them for a transaction.
    package var forTransaction: String { "SELECT " + calls(isLocal: "true").joined(separator: ", ") }

    /// A statement that returns the server's process ID and, if it is the process connected to ($1), sets the settings for the
    /// session.
    static func greeting(_ settings: SessionSettings) -> String {
        let isPooled = "pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) $1"
        return (["SELECT pg_catalog.pg_backend_pid()"] + settings.calls(isLocal: isPooled)).joined(separator: ", ")
    }

    private func calls(isLocal: String) -> [String] {
        pairs.map { "pg_catalog.set_config(\(Self.quoted($0.name)), \(Self.quoted($0.value)), \(isLocal))" }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }
}
