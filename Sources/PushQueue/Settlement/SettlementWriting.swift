import ApplePush
import CarillonPostgres

/// A settlement on its way into the database: what became of a call goes in, the next call comes out.
///
/// Most are written at the first try. A settlement that PostgreSQL refuses for its content is halved until the job at
/// fault is alone and all others are settled. That job is tried a few times more, since the cause may be removed meanwhile.
/// Then only its counts are written. After any other error, including one of schema or rights, the same settlement is written again.
struct SettlementWriting: Sendable {
    enum Step {
        /// Write the settlement, or a piece of it, while its other jobs stay in flight.
        case settlement(Settlement)
        /// Write the counts of the job at that index.
        case unrecorded(job: Int32)
        /// Nothing is left to write. If another worker has taken the claim over, it was not written.
        case over(isWritten: Bool)
    }

    /// What follows a call that failed.
    enum Consequence {
        /// Write the half that is next.
        case writeNext
        /// Write the same again. The message is one that cannot end until a person removes the cause.
        case writeAgain(stuck: Int64?)
        /// Settle the jobs with the rest of the claim.
        case awaitRemainder
    }

    /// A job whose outcomes PostgreSQL refused.
    struct Unrecorded: Sendable {
        let job: Int32
        let message: Int64
        let error: String
        let isWritten: Bool
    }

    private enum Stage {
        case whole
        /// What is to be written, the next piece last, and how often the next piece was refused.
        case inPieces([ArraySlice<Int32>], refusals: Int)
        case over(isWritten: Bool)
    }

    let claim: UnsettledClaim
    let settlement: Settlement
    let outcomes: Outcomes
    /// Some pushes have not ended.
    let hasRemainder: Bool
    private(set) var unrecorded: [Unrecorded] = []
    /// How many settlements of the claim there were.
    private(set) var settlementNumber: Int16
    private var stage = Stage.whole
    /// What a call returned was lost.
    private var mayBeWritten = false
    private var refusal = ""

    init(_ claim: UnsettledClaim, _ settlement: Settlement, _ outcomes: Outcomes, hasRemainder: Bool) {
        self.claim = claim
        self.settlement = settlement
        self.outcomes = outcomes
        self.hasRemainder = hasRemainder
        settlementNumber = claim.settlementNumber
    }

    var next: Step {
        switch stage {
        case .whole: return .settlement(settlement)
        case .over(let isWritten): return .over(isWritten: isWritten)
        case .inPieces(let pieces, let refusals):
            let piece = pieces[pieces.count - 1]
            if piece.count == 1, refusals >= StatementRetries.tries {
                return .unrecorded(job: piece[piece.startIndex])
            }
            return .settlement(settlement.piece(of: piece, keeping: pieces.dropLast().flatMap { $0 }.sorted()))
        }
    }

    /// The call that takes the next step; returns a `SettleEffect`.
    var call: (statement: Statement, parameters: Parameters) {
        switch next {
        case .settlement(let settlement):
            let arguments = SettleArguments(
                settlement,
                of: claim.jobs,
                worker: claim.worker,
                settlementNumber: settlementNumber
            )
            return (SettleArguments.statement, arguments.parameters)
        case .unrecorded(let job):
            let unrecorded = UnrecordedJob(job, of: claim.jobs, outcomes, after: claim.settled)
            let parameters = unrecorded.parameters(worker: claim.worker, settlementNumber: settlementNumber)
            return (UnrecordedJob.statement, parameters)
        case .over: preconditionFailure("Nothing is left to write.")
        }
    }

    var isOver: Bool { if case .over = stage { true } else { false } }

    /// Everything is written, by this worker.
    var isWritten: Bool { if case .over(isWritten: true) = stage { true } else { false } }

    /// Whether what this call has written are outcomes, and not only counts or what waits for the rest of the claim.
    func writesOutcomes(_ effect: SettleEffect) -> Bool {
        guard effect == .written, case .settlement(let settlement) = next else { return false }
        return settlement.pending == 0
    }

    mutating func callEnded(_ effect: SettleEffect) {
        guard effect == .written || effect == .unwritten || (effect == .before && mayBeWritten) else {
            stage = .over(isWritten: false)
            return
        }
        if case .unrecorded(let job) = next {
            let message = claim.jobs[job].message
            unrecorded.append(Unrecorded(job: job, message: message, error: refusal, isWritten: effect != .unwritten))
        }
        mayBeWritten = false
        settlementNumber += 1
        if case .inPieces(let pieces, _) = stage, pieces.count > 1 {
            stage = .inPieces(pieces.dropLast(), refusals: 0)
        } else {
            stage = .over(isWritten: true)
        }
    }

    mutating func callFailed(with error: PostgresError) -> Consequence {
        guard error.isRefusal else {
            if error.effect == .unknown { mayBeWritten = true }
            return .writeAgain(stuck: nil)
        }
        refusal = error.message
        if settlement.pending > 0 { return .awaitRemainder }
        // The claim stays in `inflight`. If the worker gave it up, its pushes would be sent again, so it keeps trying.
        var stuck: Int64?
        if case .unrecorded(let job) = next { stuck = claim.jobs[job].message }
        return halveNextPiece() ? .writeNext : .writeAgain(stuck: stuck)
    }

    /// Returns false if the next piece is a single job: then its refusal is counted.
    private mutating func halveNextPiece() -> Bool {
        var (pieces, refusals) = ([settlement.settled[...]], 0)
        if case .inPieces(let left, let times) = stage { (pieces, refusals) = (left, times) }
        guard let piece = pieces.last, piece.count > 1 else {
            stage = .inPieces(pieces, refusals: refusals + 1)
            return false
        }
        let middle = piece.startIndex + piece.count / 2
        pieces[pieces.count - 1] = piece[middle...]
        pieces.append(piece[..<middle])
        stage = .inPieces(pieces, refusals: refusals)
        return true
    }
}
