extension APNs.Message {
    /// The message as a batch, with one push for each token. `topic` is used if the message has none.
    func batch(topic: String?) throws(PushError) -> PushBatch {
        try check()
        let payload = try self.payload.bytes()
        if payload.count > pushType.payloadLimit {
            throw PushError(
                .invalidMessage,
                "The payload has \(payload.count) bytes; those of the push type \(pushType) may have "
                    + "\(pushType.payloadLimit). Make it smaller."
            )
        }
        let topic = Array((self.topic.map { pushType.completing($0) } ?? topic ?? "").utf8)
        let collapseID = Array((self.collapseID ?? "").utf8)
        var batch = PushBatch()
        batch.reserve(pushes: tokens.count, headings: 1, bytes: payload.count + 128 + 64 * tokens.count)
        // Safe: the array stays alive and unchanged during the call.
        let heading = unsafe batch.addHeading(
            payload: payload.span.bytes,
            topic: topic.span.bytes,
            pushType: pushType,
            priority: priority?.rawValue,
            expiration: expiration,
            collapseID: collapseID.span.bytes
        )
        for token in tokens {
            let bytes = Array(token.utf8)
            unsafe batch.addPush(token: bytes.span.bytes, heading: heading, id: pushID(for: token))
        }
        return batch
    }

    /// The identity of the push to a token: the same in each retry.
    func pushID(for token: String) -> PushID {
        let token = Array(token.utf8)
        // Safe: the array stays alive and unchanged during the call.
        return unsafe PushID.derived(installation: (id.high, id.low), message: 0, token: token.span.bytes)
    }
}

extension PushError {
    static let apsInExtra = PushError(.invalidMessage, "“extra” may not contain “aps”: pass its members as “aps”.")
}
