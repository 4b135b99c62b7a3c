import CarillonIO

/// The dead device tokens of the simulator. Both services and the test's own threads use the list.
final class DeadTokens: Sendable {
    let list = Guarded(FeedbackList())
}
