import ApplePush
import Postgres

/// The way of a settlement into the database, as a value: what came of a try goes in, what to try next comes out.
///
/// Most are written at the first try. When PostgreSQL refuses one for what it says, it is cut in halves until the job that
/// is to blame is alone; all others are settled by then. That job is tried a few times more, since somebody may mend what
/// is in the way, and then only so much is written of it as can be.
struct SettlementWriting {
    /// What to write next.
    enum Step: Equatable {
        /// All that is left to be said.
        case whole
        /// What is said of these jobs, by their places in the claim, while the others stay in flight.
        case piece(of: ArraySlice<Int32>, keeping: [Int32])
        /// That of this job nothing more can be said.
        case refused(job: Int32)
        /// Nothing: all is written, or it was not ours to write.
        case over(isWritten: Bool)
    }

    /// How often a job is refused alone before it is given up.
    static let tries = 3

    private let settlement: Settlement
    /// What is to be written, the next last. Nil: it was never cut.
    private var pieces: [ArraySlice<Int32>]?
    /// How often the next piece was refused.
    private var refusals = 0
    /// An answer was lost.
    private var mayBeWritten = false
    private var isLost = false
    private var isOver = false
    /// How many parts of the claim are settled.
    private(set) var part: Int16
    /// The jobs that were given up.
    private(set) var refused: [Int32] = []

    init(_ settlement: Settlement, part: Int16 = 0) {
        self.settlement = settlement
        self.part = part
    }

    var next: Step {
        if isOver { return .over(isWritten: !isLost) }
        guard let pieces = self.pieces, let piece = pieces.last else { return .whole }
        if piece.count == 1, refusals >= Self.tries { return .refused(job: piece[piece.startIndex]) }
        return .piece(of: piece, keeping: pieces.dropLast().flatMap { $0 }.sorted())
    }

    /// What to write next, or nil when it is over. The outcomes are those that the settlement was made of.
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
            isLost = true
            isOver = true
            return
        }
        if case .refused(let job) = next { refused.append(job) }
        mayBeWritten = false
        refusals = 0
        part += 1
        _ = pieces?.popLast()
        isOver = pieces?.isEmpty ?? true
    }

    /// It failed for a reason that will pass, or no answer came.
    mutating func failed(mayBeWritten: Bool) { self.mayBeWritten = self.mayBeWritten || mayBeWritten }

    /// The database refused what it says. True if there is something else to be tried at once.
    mutating func refusedByDatabase() -> Bool {
        var pieces = self.pieces ?? [settlement.settled[...]]
        defer { self.pieces = pieces }
        guard let piece = pieces.last, piece.count > 1 else {
            refusals += 1
            return false
        }
        let middle = piece.startIndex + piece.count / 2
        pieces[pieces.count - 1] = piece[middle...]
        pieces.append(piece[..<middle])
        return true
    }
}
