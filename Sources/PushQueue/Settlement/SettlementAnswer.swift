import Postgres

/// What the database says to a settlement.
enum SettlementAnswer: String, Sendable {
    case written
    /// It is settled, and nothing could be written of what became of it.
    case unwritten
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
