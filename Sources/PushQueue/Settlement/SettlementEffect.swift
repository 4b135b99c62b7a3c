import CarillonPostgres

/// What a `SettlementWrite` has done.
enum SettlementEffect: String, Sendable {
    case written
    /// The job is settled, but its counts could not be written.
    case unwritten
    /// The claim is gone, and no other worker can have taken it over. An earlier try has succeeded, if there was one.
    case before
    /// Another worker has taken the claim over.
    case lost

    init(_ rows: borrowing Rows) throws(PostgresError) {
        self = try rows.choice(0, 0)
    }
}
