extension Message {
    /// The message as a batch, one push a token.
    func batch(topic: String?) throws(PushError) -> PushBatch {
        let payload = try self.payload.bytes()
        let topic = Array((self.topic ?? topic ?? "").utf8)
        let collapseID = Array((self.collapseID ?? "").utf8)
        var batch = PushBatch()
        batch.reserve(pushes: tokens.count, headings: 1, bytes: payload.count + 128 + 64 * tokens.count)
        // A span of an array that stays alive and unchanged through the call.
        let heading = unsafe batch.addHeading(
            payload: payload.span.bytes,
            topic: topic.span.bytes,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID.span.bytes
        )
        for token in tokens {
            let token = Array(token.utf8)
            let id = unsafe PushID.derived(
                installation: (self.id.high, self.id.low),
                message: 0,
                token: token.span.bytes
            )
            unsafe batch.addPush(token: token.span.bytes, heading: heading, id: id)
        }
        return batch
    }
}
