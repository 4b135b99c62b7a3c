/// The writing of one settlement, which is tried until the database has said what came of it.
struct SettlementWrite: Sendable {
    /// The number under which the claim was made: it fences what is written.
    let worker: Int64
    /// A try got no answer, and may have been carried out.
    private(set) var mayBeDone = false

    init(worker: Int64) {
        self.worker = worker
    }

    mutating func answerWasLost() {
        self.mayBeDone = true
    }
}
