import ApplePush

/// Pushes of one claim that failed for good because of their topic.
struct TopicRefusal: Equatable, Sendable {
    let reason: Reason
    let status: Int16
    /// The place of the first of them in the batch.
    let first: Int32
    var pushes = 1
}
