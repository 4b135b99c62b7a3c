import CarillonPostgres

/// What a call that writes a settlement, or a piece of it, has done.
enum SettleEffect: String, Sendable {
    case written
    /// The job is settled, but nothing of its outcome could be recorded.
    case unwritten
    /// The claim is gone, and no other worker can have taken it over. An earlier call has succeeded, if there was one.
    case before
    /// Another worker has taken the claim over.
    case lost

    init(_ rows: borrowing Rows) throws(PostgresError) {
        let text = try rows.string(0, 0)
        guard let effect = Self(rawValue: text) else {
            throw PostgresError(.unexpectedValue, "this program does not know the effect “\(text)” of a settlement")
        }
        self = effect
    }
}
