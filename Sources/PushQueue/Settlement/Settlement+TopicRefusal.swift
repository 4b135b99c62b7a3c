import ApplePush

extension Settlement {
    /// Pushes that failed for good because of their topic.
    struct TopicRefusal: Equatable, Sendable {
        let reason: Reason
        let status: Int16
        /// The place of one of them in the batch.
        let first: Int32
        var pushes = 1
    }
}
