/// Two large statements run at a time, so that the server always has the next one. Answers come in order, so a small
/// statement waits for two large ones at most.
struct LargeTurns {
    /// A statement with at least this many rows is a large one.
    static let manyRows = 64
    private static let most = 2

    private var taken = 0
    private var waiting: ArraySlice<CheckedContinuation<Void, Never>> = []

    /// Resumes the waiter when its turn has come.
    mutating func join(_ waiter: CheckedContinuation<Void, Never>) {
        guard taken >= Self.most else {
            taken += 1
            return waiter.resume()
        }
        waiting.append(waiter)
    }

    mutating func pass() {
        if let next = waiting.popFirst() { next.resume() } else { taken -= 1 }
    }
}
