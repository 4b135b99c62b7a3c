package struct ReapTally: Equatable, Sendable {
    /// Tokens deleted from all tables together, by the app's name.
    package private(set) var deleted: [String: Int] = [:]
    /// Rows of `feedback` that were handled.
    package private(set) var handled = 0
    /// Why watched tables could not be reaped, without duplicates.
    package private(set) var faults: [String] = []
    package private(set) var isComplete = false

    package init() {}

    package var total: Int { deleted.values.reduce(0, +) }

    mutating func add(_ batch: ReapBatch) {
        if batch.deleted > 0 { deleted[batch.app ?? "", default: 0] += batch.deleted }
        handled += batch.handled
        for fault in batch.faults where !faults.contains(fault) { faults.append(fault) }
        if batch.state == .over { isComplete = true }
    }
}
