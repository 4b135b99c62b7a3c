/// The reasons of failures that are not Apple's. They have no status in `failures`, unless APNs has answered.
package enum LocalReason: String, CaseIterable, Sendable {
    /// The token is not 1 to 256 bytes in hexadecimal.
    case malformedToken = "MalformedToken"
    /// The payload is not a JSON object.
    case malformedPayload = "MalformedPayload"
    /// The payload is larger than the push type allows.
    case payloadTooLarge = "PayloadTooLarge"
    /// The row has no payload, or none for this token.
    case payloadEmpty = "PayloadEmpty"
    /// The row does not have one payload for each token, or has these beside a payload for all.
    case mismatchedPayloads = "MismatchedPayloads"
    /// The topic has more than 255 bytes, or characters that are not visible ASCII.
    case malformedTopic = "MalformedTopic"
    /// The message names a topic that is neither the app's own nor listed in `apps.topics`.
    case topicNotAllowed = "TopicNotAllowed"
    /// The collapse id has more than 64 bytes, control characters, or a leading or trailing blank.
    case malformedCollapseID = "MalformedCollapseId"
    /// The priority is not one that the push type may have.
    case unknownPriority = "UnknownPriority"
    /// No push type can have this name, or it is none that this version knows and the message names no topic.
    case unknownPushType = "UnknownPushType"
    /// `on_unknown` is neither retry nor fail.
    case malformedOnUnknown = "MalformedOnUnknown"
    case unknownApp = "UnknownApp"
    /// An attempt got no answer, and `on_unknown` or the number of attempts allows no other.
    case outcomeUnknown = "OutcomeUnknown"
    /// PostgreSQL refused the outcome, because of a constraint or trigger for example.
    case unrecorded = "Unrecorded"
    /// PostgreSQL refused the row that puts the push back into the queue.
    case unqueued = "Unqueued"
    /// At least five workers have died with the push in flight. It was the only quarantined push that the last two had.
    case poison = "Poison"
    /// The row is too large for the server to read.
    case unreadable = "Unreadable"

    /// What `failures.reason` says.
    package var name: String { rawValue }
}
