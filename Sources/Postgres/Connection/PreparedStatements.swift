/// The statements that a session has prepared or is preparing.
///
/// Calls are sent ahead of the answers, so an answer may concern a name that has been given up in the meantime. Every report to
/// this type therefore includes the statement's name on the server.
struct PreparedStatements {
    private struct Entry {
        let nameOnServer: String
        let sql: String
        let types: [UInt32]
    }

    private var entries: [String: Entry] = [:]
    /// How often each has been prepared. The server may still have an old version, so no name is used twice.
    private var counts: [String: Int] = [:]
    /// Why the server last refused to prepare each statement.
    private var refusals: [String: (nameOnServer: String, error: PostgresError)] = [:]

    /// The name to execute, and whether it has to be prepared first.
    mutating func use(_ statement: Statement, types: [UInt32]) throws(PostgresError) -> (name: String, isNew: Bool) {
        if let entry = entries[statement.name] {
            guard entry.types == types, entry.sql == statement.sql else {
                throw PostgresError(
                    .unexpectedValue,
                    "the statement is already known with other parameters or different text: one name, one statement",
                    statement: statement.name
                )
            }
            return (entry.nameOnServer, false)
        }
        let count = counts[statement.name, default: 0] + 1
        counts[statement.name] = count
        let name = count == 1 ? statement.name : "\(statement.name)_\(count)"
        entries[statement.name] = Entry(nameOnServer: name, sql: statement.sql, types: types)
        return (name, true)
    }

    /// The server could not prepare it.
    mutating func refused(_ statement: Statement, as nameOnServer: String, _ error: PostgresError) {
        refusals[statement.name] = (nameOnServer, error)
        forget(statement, as: nameOnServer)
    }

    /// The server's statement can no longer be used: a table has changed, or a pooler has switched to another session.
    mutating func forget(_ statement: Statement, as nameOnServer: String) {
        if entries[statement.name]?.nameOnServer == nameOnServer { entries[statement.name] = nil }
    }

    /// The reason for a failed call that was sent before the server refused to prepare its statement. The server itself says only
    /// that the statement does not exist.
    func reason(for statement: Statement, as nameOnServer: String) -> PostgresError? {
        guard let refusal = refusals[statement.name], refusal.nameOnServer == nameOnServer else { return nil }
        return refusal.error
    }
}
