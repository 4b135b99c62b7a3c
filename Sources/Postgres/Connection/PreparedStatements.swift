/// The statements that a session has prepared, or is about to.
struct PreparedStatements {
    struct Entry {
        let nameOnServer: String
        let sql: String
        let types: [UInt32]
    }

    private var entries: [String: Entry] = [:]
    /// How often each was forgotten. The server may still have the old one, so the next gets another name.
    private var forgotten: [String: Int] = [:]

    /// The name to execute, and whether it has to be prepared first.
    mutating func use(_ statement: Statement, types: [UInt32]) throws(PostgresError) -> (name: String, isNew: Bool) {
        if let entry = entries[statement.name] {
            guard entry.types == types, entry.sql == statement.sql else {
                throw PostgresError(
                    .unexpectedValue,
                    "the statement is already known with other parameters or another text: one name, one statement",
                    statement: statement.name
                )
            }
            return (entry.nameOnServer, false)
        }
        let name = forgotten[statement.name].map { "\(statement.name)_\($0 + 1)" } ?? statement.name
        entries[statement.name] = Entry(nameOnServer: name, sql: statement.sql, types: types)
        return (name, true)
    }

    /// The server did not prepare it, so the name is still free.
    mutating func failed(_ statement: Statement) { entries[statement.name] = nil }

    /// The server's statement can no longer be used: a table has changed, or a pooler has switched to another session.
    mutating func forget(_ statement: Statement) {
        guard entries.removeValue(forKey: statement.name) != nil else { return }
        forgotten[statement.name, default: 0] += 1
    }
}
