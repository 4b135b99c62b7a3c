/// The tokens that a gateway reports dead, in the order in which it names them.
///
/// ```swift
/// let list = try await apns.feedback()
/// for await report in list { forget(report.token, unlessRegisteredAfter: report.timestamp) }
/// if let failure = await list.failure { print("The rest comes with the next list: \(failure)") }
/// ```
///
/// A gateway forgets what it has told. So nothing is read from it before it is asked for, and what was handed out
/// should be kept safe before the next report is. A list can be read once, by one reader.
public struct FeedbackList: AsyncSequence, Sendable {
    private let source: any FeedbackSource

    package init(_ source: any FeedbackSource) { self.source = source }

    /// What came together, for readers that keep it together; nil at the end.
    package func nextPiece() async -> [Feedback]? { await source.nextPiece() }

    /// Why the list broke off, once the sequence has ended; nil: it came to its end. What came before stands.
    public var failure: PushError? { get async { await source.failure } }

    /// Reads the list.
    public func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Reads a list from its beginning to its end.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: any FeedbackSource
        private var piece: ArraySlice<Feedback> = []

        init(_ source: any FeedbackSource) { self.source = source }

        /// The next report; nil at the end.
        public mutating func next() async -> Feedback? {
            if piece.isEmpty { piece = await source.nextPiece()?[...] ?? [] }
            return piece.popFirst()
        }
    }
}
