import ApplePush
import CarillonPostgres

/// One try to write a settlement or a piece of it.
struct SettlementTry: Sendable {
    enum Content: Sendable {
        case settlement(Settlement)
        /// The counts of the job at that place.
        case unrecorded(job: Int32)
    }

    /// What it has done.
    enum Effect: String, Sendable {
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

    let content: Content
    let claim: ClaimedJobs
    let outcomes: Outcomes
    /// The outcomes in an earlier settlement.
    let earlier: Outcomes?
    /// The worker's id when it claimed.
    let worker: Int64
    /// How many settlements of the claim there were.
    let settlementNumber: Int16

    /// Answers with an `Effect`.
    var statement: Statement {
        switch content {
        case .settlement: Settlement.statement
        case .unrecorded: UnrecordedJob.statement
        }
    }

    var parameters: Parameters {
        switch content {
        case .settlement(let settlement):
            return settlement.parameters(of: claim, worker: worker, settlementNumber: settlementNumber)
        case .unrecorded(let job):
            let unrecorded = UnrecordedJob(job, of: claim, outcomes, after: earlier)
            return unrecorded.parameters(worker: worker, settlementNumber: settlementNumber)
        }
    }
}
