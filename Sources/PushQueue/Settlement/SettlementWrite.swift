import ApplePush
import CarillonPostgres

/// One try to write a settlement or a piece of it.
struct SettlementWrite: Sendable {
    enum Content: Sendable {
        case settlement(Settlement)
        /// The counts of the job at that place.
        case refused(job: Int32)
    }

    let content: Content
    let claim: ClaimedJobs
    let outcomes: Outcomes
    /// The outcomes that an earlier part was settled with.
    let earlier: Outcomes?
    /// The worker's id when it claimed.
    let worker: Int64
    /// How many parts of the claim are settled.
    let part: Int16

    /// Answers with a `SettlementAnswer`.
    var statement: Statement {
        switch content {
        case .settlement: Settlement.statement
        case .refused: UnrecordedJob.statement
        }
    }

    var parameters: Parameters {
        switch content {
        case .settlement(let settlement):
            return settlement.parameters(of: claim, worker: worker, part: part)
        case .refused(let job):
            let rest = UnrecordedJob(job, of: claim, outcomes, after: earlier)
            return rest.parameters(worker: worker, part: part)
        }
    }
}

/// The answer to a `SettlementWrite`.
enum SettlementAnswer: String, Sendable {
    case written
    /// The job is settled, but its counts could not be written.
    case unwritten
    /// The claim is gone, and no other worker can have taken it over. An earlier try has succeeded, if there was one.
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
