import CarillonPostgres

/// What happens to updates or background pushes of a claim, as PostgreSQL says.
struct PushDecisions: Equatable, Sendable {
    enum Decision: Equatable, Sendable {
        /// An update is sent with this time in its payload, in seconds since 1970.
        case send(stamp: Int64?)
        /// It waits in `scheduled`.
        case later
        /// It has ended, since a newer one exists.
        case superseded
    }

    /// One for each push, in the order of the question.
    var decisions: [Decision]
    /// How many pushes have ended so: those, and pushes that waited in `scheduled`.
    var superseded: Int
}

extension PushDecisions {
    /// - Returns: Nil if another worker has taken the claim over.
    init?(_ rows: borrowing Rows) throws(PostgresError) {
        if try rows.isNull(0, "decisions") { return nil }
        let stamps = try rows.isNull(0, "stamps") ? [] : rows.int64s(0, "stamps")
        var decisions: [Decision] = []
        for (index, word) in try rows.strings(0, "decisions").enumerated() {
            switch word {
            case "send": decisions.append(.send(stamp: stamps.isEmpty ? nil : stamps[index]))
            case "later": decisions.append(.later)
            case "superseded": decisions.append(.superseded)
            default: throw PostgresError(.unexpectedValue, "this program does not know the decision \(word ?? "null")")
            }
        }
        self.init(decisions: decisions, superseded: Int(try rows.int64(0, "superseded")))
    }
}
