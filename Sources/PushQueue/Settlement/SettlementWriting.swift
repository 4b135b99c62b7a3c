import ApplePush
import CarillonPostgres

/// A settlement on its way into the database: the result of a try goes in, the next try comes out.
///
/// Most are written at the first try. A settlement that PostgreSQL rejects for its content is halved until the job at
/// fault is alone and all others are settled. That job is tried a few times more, since the cause may be removed meanwhile.
/// Then only its counts are written.
struct SettlementWriting: Sendable {
    /// What to write next.
    enum Step: Equatable {
        case whole
        /// These jobs, by their places in the claim, while the others stay in flight.
        case piece(of: ArraySlice<Int32>, keeping: [Int32])
        /// The counts of this job.
        case unrecorded(job: Int32)
        /// Nothing is left to write. If another worker has taken the claim over, it was not written.
        case over(isWritten: Bool)
    }

    /// What to do after a try that failed.
    enum WriteFault {
        /// Make another try at once.
        case triesNext
        /// Make the same try again. The message is one that cannot end until a person removes the cause.
        case triesAgain(stuck: Int64?)
        /// Settle the jobs with the rest of the claim.
        case waitsForRest
    }

    /// A job whose outcomes PostgreSQL rejected.
    struct Unrecorded: Sendable {
        let job: Int32
        let message: Int64
        let error: String
        /// Its counts are written.
        let isWritten: Bool
    }

    private enum Stage {
        case whole
        /// What is to be written, the next piece last, and how often the next piece was rejected.
        case inPieces([ArraySlice<Int32>], rejections: Int)
        case over(isWritten: Bool)
    }

    let claim: HeldClaim
    let settlement: Settlement
    let outcomes: Outcomes
    /// Some pushes have not ended.
    let hasRest: Bool
    private(set) var unrecorded: [Unrecorded] = []
    /// How many settlements of the claim there were.
    private(set) var settlementNumber: Int16
    private var stage = Stage.whole
    /// An answer was lost.
    private var mayBeWritten = false
    private var rejection = ""

    init(_ claim: HeldClaim, _ settlement: Settlement, _ outcomes: Outcomes, hasRest: Bool) {
        self.claim = claim
        self.settlement = settlement
        self.outcomes = outcomes
        self.hasRest = hasRest
        settlementNumber = claim.settlementNumber
    }

    var next: Step {
        switch stage {
        case .whole: return .whole
        case .over(let isWritten): return .over(isWritten: isWritten)
        case .inPieces(let pieces, let rejections):
            let piece = pieces[pieces.count - 1]
            if piece.count == 1, rejections >= StatementRetries.tries {
                return .unrecorded(job: piece[piece.startIndex])
            }
            return .piece(of: piece, keeping: pieces.dropLast().flatMap { $0 }.sorted())
        }
    }

    /// Nil if nothing is left to write.
    var write: SettlementTry? {
        let content: SettlementTry.Content
        switch next {
        case .whole: content = .settlement(settlement)
        case .piece(let jobs, let others): content = .settlement(settlement.piece(of: jobs, keeping: others))
        case .unrecorded(let job): content = .unrecorded(job: job)
        case .over: return nil
        }
        return SettlementTry(
            content: content,
            claim: claim.jobs,
            outcomes: outcomes,
            earlier: claim.settled,
            worker: claim.worker,
            settlementNumber: settlementNumber
        )
    }

    /// Everything is written, by this worker.
    var isWritten: Bool { next == .over(isWritten: true) }

    mutating func answered(_ answer: SettlementTry.Effect) {
        guard answer == .written || answer == .unwritten || (answer == .before && mayBeWritten) else {
            stage = .over(isWritten: false)
            return
        }
        if case .unrecorded(let job) = next {
            let message = claim.jobs[job].message
            unrecorded.append(Unrecorded(job: job, message: message, error: rejection, isWritten: answer != .unwritten))
        }
        mayBeWritten = false
        settlementNumber += 1
        if case .inPieces(let pieces, _) = stage, pieces.count > 1 {
            stage = .inPieces(pieces.dropLast(), rejections: 0)
        } else {
            stage = .over(isWritten: true)
        }
    }

    mutating func failed(_ error: PostgresError) -> WriteFault {
        guard !error.isTransient else {
            failed(mayBeWritten: error.effect == .unknown)
            return .triesAgain(stuck: nil)
        }
        rejection = error.message
        if settlement.pending > 0 { return .waitsForRest }
        // The claim stays in `inflight`. If the worker gave it up, its pushes would be sent again, so it keeps trying.
        var stuck: Int64?
        if case .unrecorded(let job) = next { stuck = claim.jobs[job].message }
        return rejectedByPostgres() ? .triesNext : .triesAgain(stuck: stuck)
    }

    /// The try failed for a reason that will pass, or its answer was lost.
    mutating func failed(mayBeWritten: Bool) { self.mayBeWritten = self.mayBeWritten || mayBeWritten }

    /// PostgreSQL rejected the content. Returns whether another try is to be made at once.
    mutating func rejectedByPostgres() -> Bool {
        var (pieces, rejections) = ([settlement.settled[...]], 0)
        if case .inPieces(let left, let times) = stage { (pieces, rejections) = (left, times) }
        guard let piece = pieces.last, piece.count > 1 else {
            stage = .inPieces(pieces, rejections: rejections + 1)
            return false
        }
        let middle = piece.startIndex + piece.count / 2
        pieces[pieces.count - 1] = piece[middle...]
        pieces.append(piece[..<middle])
        stage = .inPieces(pieces, rejections: rejections)
        return true
    }
}
