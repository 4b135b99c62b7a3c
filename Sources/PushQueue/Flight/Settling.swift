import ApplePush
import Postgres

/// A settlement on its way into the database.
struct Settling: Sendable {
    /// What to do after a try that failed.
    enum Way {
        /// Something else is to be tried at once.
        case triesNext
        /// The same is to be tried again. A message that cannot end: a person has to know.
        case triesAgain(stuck: Int64?)
        /// It is written with the rest of the claim.
        case leavesItToTheRest
    }

    var claim: HeldClaim
    let settlement: Settlement
    let outcomes: Outcomes
    /// Some pushes have not ended.
    let hasRest: Bool
    /// Jobs of which PostgreSQL refused to write what became of them.
    private(set) var unrecorded: [WorkerEvent] = []
    private var writing: SettlementWriting
    private var refusal = ""

    init(_ claim: HeldClaim, _ settlement: Settlement, _ outcomes: Outcomes, hasRest: Bool) {
        self.claim = claim
        self.settlement = settlement
        self.outcomes = outcomes
        self.hasRest = hasRest
        self.writing = SettlementWriting(settlement, part: claim.part)
    }

    /// What to write next; nil: it is over.
    var write: SettlementWrite? {
        self.writing.write(of: self.claim.jobs, self.outcomes, after: self.claim.settled, as: self.claim.worker)
    }

    /// All is written, by this worker.
    var isWritten: Bool { self.writing.next == .over(isWritten: true) }

    mutating func answered(_ answer: SettlementAnswer, name: String) {
        self.writing.answered(answer)
        guard self.writing.refused.count > self.unrecorded.count, let job = self.writing.refused.last else { return }
        self.unrecorded.append(
            .unrecorded(
                app: name,
                message: self.claim.jobs.jobs[Int(job)].message,
                error: self.refusal,
                isWritten: answer != .unwritten
            )
        )
    }

    mutating func failed(_ error: PostgresError) -> Way {
        guard !error.isTransient else {
            self.writing.failed(mayBeWritten: error.outcome == .unknown)
            return .triesAgain(stuck: nil)
        }
        self.refusal = error.message
        // A first part that PostgreSQL refuses is written with the rest.
        if self.settlement.pending > 0 { return .leavesItToTheRest }
        // The claim cannot leave `inflight`. Whoever gave it up would have its pushes sent again: so it is tried again for
        // as long as the worker runs.
        var stuck: Int64?
        if case .refused(let job) = self.writing.next { stuck = self.claim.jobs.jobs[Int(job)].message }
        return self.writing.refusedByDatabase() ? .triesNext : .triesAgain(stuck: stuck)
    }
}
