import Postgres

/// Statements about many rows take turns, two at a time: one that the server works on, and one for it to go on with. The
/// connection answers in the order of asking, so whatever is small waits behind two of them at the most.
extension Worker {
    /// How many rows make a statement a large one.
    static let manyRows = 64
    private static let most = 2

    func takeTurn() async {
        await withCheckedContinuation { continuation in
            guard largeStatements >= Self.most else {
                largeStatements += 1
                return continuation.resume()
            }
            inLine.append(continuation)
        }
    }

    func passTurn() {
        if let next = inLine.popFirst() { next.resume() } else { largeStatements -= 1 }
    }
}
