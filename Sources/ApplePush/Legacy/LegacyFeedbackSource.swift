/// The source of a list.
package protocol LegacyFeedbackSource: Sendable {
    /// The next entries, at least one; nil at the end. Must not be called again before it has returned.
    func nextPiece() async -> [Feedback]?

    /// Why the list broke off, once it has ended.
    var failure: PushError? { get async }
}
