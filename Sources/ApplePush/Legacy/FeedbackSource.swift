/// Where a list comes from.
package protocol FeedbackSource: Sendable {
    /// The next entries, at least one; nil at the end. Not to be called again before it has returned.
    func nextPiece() async -> [Feedback]?

    /// Why the list broke off, once it has ended.
    var failure: PushError? { get async }
}
