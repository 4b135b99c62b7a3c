import Postgres

/// The answer to a settlement.
enum SettlementAnswer: String, Sendable {
    case written
    /// It is settled, but its outcomes could not be written.
    case unwritten
    /// The claim is gone, and no other worker can have had it. An earlier try has succeeded, if there was one.
    case before
    /// Another worker has taken the claim over.
    case lost

    init(_ rows: borrowing Rows) throws(PostgresError) {
        let text = try rows.string(0, 0)
        guard let answer = Self(rawValue: text) else {
            throw PostgresError(.unexpectedValue, "a settlement was answered with “\(text)”")
        }
        self = answer
    }
}
