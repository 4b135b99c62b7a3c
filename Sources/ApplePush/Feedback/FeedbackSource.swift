/// Where a list of dead tokens comes from, piece by piece.
package protocol FeedbackSource: Sendable {
    /// What comes next, never nothing; nil at the end. One piece is asked for at a time.
    func nextPiece() async -> [Feedback]?

    /// Why the list broke off, once it has ended.
    var failure: PushError? { get async }
}
