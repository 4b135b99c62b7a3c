/// What a feedback pass has done.
package struct FeedbackTally: Equatable, Sendable {
    /// Tokens that were deleted, by the app's name, in whichever table.
    package private(set) var deleted: [String: Int] = [:]
    /// Rows of `feedback` that are done with.
    package private(set) var handled = 0
    /// What kept watched tables from being reaped, each once.
    package private(set) var faults: [String] = []
    /// It went to the end.
    package private(set) var isWhole = false

    package init() {}

    package var total: Int { self.deleted.values.reduce(0, +) }

    mutating func add(_ batch: ReapBatch) {
        if batch.deleted > 0 { self.deleted[batch.app ?? "", default: 0] += batch.deleted }
        self.handled += batch.handled
        for fault in batch.faults where !self.faults.contains(fault) { self.faults.append(fault) }
        if batch.state == .over { self.isWhole = true }
    }
}
