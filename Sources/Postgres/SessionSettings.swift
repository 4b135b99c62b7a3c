/// Settings that hold for every statement of a session, whatever the way there.
///
/// A pooler may carry out each transaction in another server process, so there they travel with every statement and end
/// with its transaction; other users of the pool see nothing of them.
package struct SessionSettings: Sendable, ExpressibleByDictionaryLiteral {
    package let pairs: [(name: String, value: String)]

    package init(dictionaryLiteral elements: (String, String)...) {
        pairs = elements
    }

    private init(_ pairs: [(name: String, value: String)]) {
        self.pairs = pairs
    }

    /// Settings that a version of PostgreSQL has brought: older servers refuse them.
    private static let novelties = ["transaction_timeout": 170_000]

    /// Those that a server of that version knows.
    package func known(to serverVersion: Int) -> SessionSettings {
        SessionSettings(pairs.filter { Self.novelties[$0.name, default: 0] <= serverVersion })
    }

    /// These, and others beside them or in their place.
    package func with(_ others: SessionSettings) -> SessionSettings {
        let names = Set(others.pairs.map(\.name))
        return SessionSettings(pairs.filter { !names.contains($0.name) } + others.pairs)
    }

    var isEmpty: Bool { pairs.isEmpty }

    /// What is to be carried out first in each transaction, where that may be another server process's. The transaction has
    /// begun by then, so the isolation that it would have by default is its own to set, and before any query.
    var openings: [String] {
        let isolation = pairs.last { $0.name == "default_transaction_isolation" }
        return (isolation.map { ["SET transaction_isolation TO \(Self.quoted($0.value))"] } ?? []) + [
            forTransaction
        ]
    }

    /// Sets them until the transaction ends.
    package var forTransaction: String { "SELECT " + calls(isLocal: "true").joined(separator: ", ") }

    /// Tells which server process works for us and, if that is the one that we are connected with, sets them for good.
    static func greeting(_ settings: SessionSettings) -> String {
        (["SELECT pg_backend_pid()"] + settings.calls(isLocal: "pg_backend_pid() <> $1")).joined(separator: ", ")
    }

    private func calls(isLocal: String) -> [String] {
        pairs.map { "set_config(\(Self.quoted($0.name)), \(Self.quoted($0.value)), \(isLocal))" }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }
}
