import ApplePush
import Postgres

/// A settlement on its way into the database.
struct Settling: Sendable {
    /// What to do after a try that failed.
    enum Failure {
        /// Something else is to be tried at once.
        case triesNext
        /// The same is to be tried again. The message is one that cannot end, which a person has to know.
        case triesAgain(stuck: Int64?)
        /// It is written with the rest of the claim.
        case waitsForRest
    }

    var claim: HeldClaim
    let settlement: Settlement
    let outcomes: Outcomes
    /// Some pushes have not ended.
    let hasRest: Bool
    /// Jobs whose outcomes PostgreSQL refused to write.
    private(set) var unrecorded: [WorkerEvent] = []
    private var writing: SettlementWriting
    private var refusal = ""

    init(_ claim: HeldClaim, _ settlement: Settlement, _ outcomes: Outcomes, hasRest: Bool) {
        self.claim = claim
        self.settlement = settlement
        self.outcomes = outcomes
        self.hasRest = hasRest
        writing = SettlementWriting(settlement, part: claim.part)
    }

    /// What to write next; nil: it is over.
    var write: SettlementWrite? {
        writing.write(of: claim.jobs, outcomes, after: claim.settled, as: claim.worker)
    }

    /// Everything is written, by this worker.
    var isWritten: Bool { writing.next == .over(isWritten: true) }

    mutating func answered(_ answer: SettlementAnswer, name: String) {
        writing.answered(answer)
        guard writing.refused.count > unrecorded.count, let job = writing.refused.last else { return }
        unrecorded.append(
            .unrecorded(
                app: name,
                message: claim.jobs.jobs[Int(job)].message,
                error: refusal,
                isWritten: answer != .unwritten
            )
        )
    }

    mutating func failed(_ error: PostgresError) -> Failure {
        guard !error.isTransient else {
            writing.failed(mayBeWritten: error.outcome == .unknown)
            return .triesAgain(stuck: nil)
        }
        refusal = error.message
        // A first part that PostgreSQL refuses is written with the rest.
        if settlement.pending > 0 { return .waitsForRest }
        // The claim cannot leave `inflight`. Giving it up would have its pushes sent again, so it is tried again for as long
        // as the worker runs.
        var stuck: Int64?
        if case .refused(let job) = writing.next { stuck = claim.jobs.jobs[Int(job)].message }
        return writing.refusedByDatabase() ? .triesNext : .triesAgain(stuck: stuck)
    }
}
