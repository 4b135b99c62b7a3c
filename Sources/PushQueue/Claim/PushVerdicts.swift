import CarillonPostgres

/// What happens to updates or background pushes of a claim, as PostgreSQL says.
struct PushVerdicts: Equatable, Sendable {
    enum Verdict: Equatable, Sendable {
        /// An update is sent with this time in its payload, in seconds since 1970.
        case send(stamp: Int64?)
        /// It waits in `scheduled`.
        case later
        /// It has ended, since a newer one exists.
        case superseded
    }

    /// One for each push, in the order of the question.
    var verdicts: [Verdict]
    /// How many pushes have ended so: those, and pushes that waited in `scheduled`.
    var superseded: Int
}

extension PushVerdicts {
    private enum Word: String {
        case send, later, superseded
    }

    /// - Returns: Nil if another worker has taken the claim over.
    init?(_ rows: borrowing Rows) throws(PostgresError) {
        if try rows.isNull(0, "verdicts") { return nil }
        let stamps = try rows.isNull(0, "stamps") ? [] : rows.int64s(0, "stamps")
        var verdicts: [Verdict] = []
        for (place, word) in try rows.choices(0, "verdicts", of: Word.self).enumerated() {
            switch word {
            case .send: verdicts.append(.send(stamp: stamps.isEmpty ? nil : stamps[place]))
            case .later: verdicts.append(.later)
            case .superseded: verdicts.append(.superseded)
            }
        }
        self.init(verdicts: verdicts, superseded: Int(try rows.int64(0, "superseded")))
    }
}
