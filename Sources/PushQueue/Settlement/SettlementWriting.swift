import ApplePush
import Postgres

/// How a settlement gets into the database: what came of a try goes in, what to try next comes out.
///
/// Most are written at the first try. A settlement that PostgreSQL refuses for its content is cut in halves until the job at
/// fault is alone and all others are settled. That job is tried a few times more, since the cause may be removed meanwhile.
/// Then only its counts are written.
struct SettlementWriting {
    /// What to write next.
    enum Step: Equatable {
        case whole
        /// These jobs, by their places in the claim, while the others stay in flight.
        case piece(of: ArraySlice<Int32>, keeping: [Int32])
        /// The counts of this job.
        case refused(job: Int32)
        /// Nothing. Not written: the claim was taken over.
        case over(isWritten: Bool)
    }

    /// How often a single job is tried.
    static let tries = 3

    private enum Stage {
        case whole
        /// The settlement was cut: what is to be written, the next piece last, and how often that was refused.
        case cut([ArraySlice<Int32>], refusals: Int)
        case over(isWritten: Bool)
    }

    private let settlement: Settlement
    private var stage = Stage.whole
    /// An answer was lost.
    private var mayBeWritten = false
    /// How many parts of the claim are settled.
    private(set) var part: Int16
    /// The jobs of which only the counts were written.
    private(set) var refused: [Int32] = []

    init(_ settlement: Settlement, part: Int16 = 0) {
        self.settlement = settlement
        self.part = part
    }

    var next: Step {
        switch stage {
        case .whole: return .whole
        case .over(let isWritten): return .over(isWritten: isWritten)
        case .cut(let pieces, let refusals):
            let piece = pieces[pieces.count - 1]
            if piece.count == 1, refusals >= Self.tries { return .refused(job: piece[piece.startIndex]) }
            return .piece(of: piece, keeping: pieces.dropLast().flatMap { $0 }.sorted())
        }
    }

    /// What to write next; nil: it is over.
    /// - Parameter outcomes: Those that the settlement was made of.
    func write(
        of claim: ClaimedJobs,
        _ outcomes: Outcomes,
        after earlier: Outcomes?,
        as worker: Int64
    ) -> SettlementWrite? {
        let content: SettlementWrite.Content
        switch next {
        case .whole: content = .settlement(settlement)
        case .piece(let jobs, let others): content = .settlement(settlement.piece(of: jobs, keeping: others))
        case .refused(let job): content = .refused(job: job)
        case .over: return nil
        }
        return SettlementWrite(
            content: content,
            claim: claim,
            outcomes: outcomes,
            earlier: earlier,
            worker: worker,
            part: part
        )
    }

    /// The database answered.
    mutating func answered(_ answer: SettlementAnswer) {
        guard answer == .written || answer == .unwritten || (answer == .before && mayBeWritten) else {
            stage = .over(isWritten: false)
            return
        }
        if case .refused(let job) = next { refused.append(job) }
        mayBeWritten = false
        part += 1
        if case .cut(let pieces, _) = stage, pieces.count > 1 {
            stage = .cut(pieces.dropLast(), refusals: 0)
        } else {
            stage = .over(isWritten: true)
        }
    }

    /// It failed for a reason that will pass, or no answer came.
    mutating func failed(mayBeWritten: Bool) { self.mayBeWritten = self.mayBeWritten || mayBeWritten }

    /// The database refused what it says. True: something else is to be tried at once.
    mutating func refusedByDatabase() -> Bool {
        var (pieces, refusals) = ([settlement.settled[...]], 0)
        if case .cut(let cut, let times) = stage { (pieces, refusals) = (cut, times) }
        guard let piece = pieces.last, piece.count > 1 else {
            stage = .cut(pieces, refusals: refusals + 1)
            return false
        }
        let middle = piece.startIndex + piece.count / 2
        pieces[pieces.count - 1] = piece[middle...]
        pieces.append(piece[..<middle])
        stage = .cut(pieces, refusals: refusals)
        return true
    }
}
