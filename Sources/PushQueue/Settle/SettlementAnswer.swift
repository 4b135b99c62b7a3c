import Postgres

/// What the database says to a settlement.
enum SettlementAnswer: String, Sendable {
    case written
    /// It is not there to be settled, and nobody else can have had it: if it was tried before, that succeeded.
    case before
    /// Another worker has taken it over.
    case lost

    init(_ rows: borrowing Rows) throws(PostgresError) {
        let text = try rows.string(0, 0)
        guard let answer = Self(rawValue: text) else {
            throw PostgresError(.unexpectedValue, "a settlement was answered with “\(text)”")
        }
        self = answer
    }
}

extension PostgresError {
    /// PostgreSQL refuses what was to be written, and will refuse it again: a constraint or a trigger is in the way, say,
    /// or a value that no column takes. Everything else may pass.
    var isAboutData: Bool {
        guard let state = self.sqlState?.prefix(2) else { return false }
        return ["22", "23", "44", "54", "P0"].contains(state)
    }
}
