/// What a run of `AppMove` has just done.
package enum MoveStep: Equatable, Sendable {
    /// The source knows of the move, and the target has the app, which does not send yet.
    case begun
    /// So many device tokens were copied while the source goes on sending.
    case copied(tokens: Int)
    /// The source is paused and nothing is in flight.
    case drained
    /// The target has committed the app's jobs and state, the source has not.
    case brought
    /// The source has committed: from now on the app belongs to the target.
    case left
    /// The target sends.
    case live
    /// So many rows of history were moved.
    case history(rows: Int)
    /// So many device tokens were deleted in the source.
    case deleted(tokens: Int)
    /// Nothing is left in the source.
    case ended
}
