import FoundationEssentials

/// The dead device tokens that a gateway lists, in the gateway's order.
///
/// ```swift
/// let list = try await apns.feedback()
/// for await dead in list { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
/// if let failure = await list.failure { print("The rest comes with the next list: \(failure)") }
/// ```
///
/// A gateway forgets the entries that it has sent. Therefore nothing is read in advance; save each entry before you read the next.
/// A list can be read only once, by one reader.
public struct LegacyFeedbackList: AsyncSequence, Sendable {
    private let source: any LegacyFeedbackSource

    package init(_ source: any LegacyFeedbackSource) { self.source = source }

    /// A list of these entries, for your own backends. `failure` says why others are missing.
    public init(_ entries: [Feedback], failure: PushError? = nil) {
        self.init(GivenFeedback(entries, failure: failure))
    }

    /// The entries that arrived together, for readers that save them together; nil at the end.
    package func nextPiece() async -> [Feedback]? { await source.nextPiece() }

    /// Why the list broke off, once the sequence has ended; nil if the list is complete. Entries before the failure are valid.
    public var failure: PushError? { get async { await source.failure } }

    /// Reads the list.
    public func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Reads a list from its beginning to its end.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: any LegacyFeedbackSource
        private var piece: ArraySlice<Feedback> = []

        init(_ source: any LegacyFeedbackSource) { self.source = source }

        /// The next entry; nil at the end.
        public mutating func next() async -> Feedback? {
            if piece.isEmpty { piece = await source.nextPiece()?[...] ?? [] }
            return piece.popFirst()
        }
    }
}

/// A source that returns a given list all at once.
private actor GivenFeedback: LegacyFeedbackSource {
    private var entries: [Feedback]?
    let failure: PushError?

    init(_ entries: [Feedback], failure: PushError?) {
        self.entries = entries.isEmpty ? nil : entries
        self.failure = failure
    }

    func nextPiece() -> [Feedback]? { entries.take() }
}
