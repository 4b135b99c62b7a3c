import FoundationEssentials

/// The dead device tokens that a gateway lists, in its order.
///
/// ```swift
/// let list = try await apns.feedback()
/// for await dead in list { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
/// if let failure = await list.failure { print("The rest comes with the next list: \(failure)") }
/// ```
///
/// A gateway forgets what it has sent. Therefore nothing is read before it is asked for, and each entry should be saved
/// before the next one is read. A list can be read once, by one reader.
public struct FeedbackList: AsyncSequence, Sendable {
    private let source: any FeedbackSource

    package init(_ source: any FeedbackSource) { self.source = source }

    /// A list of these entries, for backends of your own. A failure says why others are missing.
    public init(_ entries: [Feedback], failure: PushError? = nil) {
        self.init(GivenFeedback(entries, failure: failure))
    }

    /// The entries that arrived together, for readers that save them together; nil at the end.
    package func nextPiece() async -> [Feedback]? { await source.nextPiece() }

    /// Why the list broke off, once the sequence has ended; nil: it is complete. Entries before the failure are valid.
    public var failure: PushError? { get async { await source.failure } }

    /// Reads the list.
    public func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Reads a list from its beginning to its end.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: any FeedbackSource
        private var piece: ArraySlice<Feedback> = []

        init(_ source: any FeedbackSource) { self.source = source }

        /// The next entry; nil at the end.
        public mutating func next() async -> Feedback? {
            if piece.isEmpty { piece = await source.nextPiece()?[...] ?? [] }
            return piece.popFirst()
        }
    }
}
