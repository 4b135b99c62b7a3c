import ApplePush

extension PushBatch {
    /// Adds a message, and returns its number.
    mutating func addHeading(
        _ payload: String,
        topic: String = "",
        pushType: PushType = .alert,
        priority: UInt8? = nil,
        expiration: Int64? = nil,
        collapseID: String = ""
    ) -> Int {
        addHeading(
            payload: payload.utf8Span.span.bytes,
            topic: topic.utf8Span.span.bytes,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID.utf8Span.span.bytes
        )
    }

    mutating func addPush(_ token: String, heading: Int, id: PushID = .random()) {
        addPush(token: token.utf8Span.span.bytes, heading: heading, id: id)
    }
}
