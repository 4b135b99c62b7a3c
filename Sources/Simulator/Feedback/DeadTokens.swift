import IO

/// The tokens that the simulator knows to be dead, shared by those who find out and the one who tells.
final class DeadTokens: Sendable {
    private let book = Guarded(FeedbackBook())

    var counts: (waiting: Int, told: Int) { book.withLock { ($0.waiting, $0.told) } }

    func add(_ dead: DeadToken) { book.withLock { $0.add(dead) } }

    func add(_ token: [UInt8], seconds: UInt32, topic: [UInt8]?) {
        book.withLock { $0.add(token, seconds: seconds, topic: topic) }
    }

    func take(for certificate: ClientCredential.Certificate) -> [FeedbackBook.Entry] {
        book.withLock { $0.take(for: certificate) }
    }

    func putBack(_ rest: ArraySlice<FeedbackBook.Entry>) { book.withLock { $0.putBack(rest) } }
}
