/// A source that returns a given list all at once.
actor GivenFeedback: FeedbackSource {
    private var entries: [Feedback]?
    let failure: PushError?

    init(_ entries: [Feedback], failure: PushError?) {
        self.entries = entries.isEmpty ? nil : entries
        self.failure = failure
    }

    func nextPiece() -> [Feedback]? { entries.take() }
}
