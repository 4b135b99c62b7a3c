/// Why a push failed, apart from Apple's reasons. Most are refused before they are sent. They have no status in `failures`,
/// unless APNs has answered.
package enum LocalReason: String, CaseIterable, Sendable {
    /// The token is not 1 to 256 bytes in hexadecimal.
    case malformedToken = "MalformedToken"
    /// The payload is no JSON object.
    case malformedPayload = "MalformedPayload"
    /// The payload is larger than 4096 bytes, or 5120 for voip.
    case payloadTooLarge = "PayloadTooLarge"
    /// The topic is not 1 to 255 visible ASCII characters.
    case malformedTopic = "MalformedTopic"
    /// The collapse id has more than 64 bytes, control characters, or blanks around it.
    case malformedCollapseID = "MalformedCollapseId"
    /// The priority is none of 10, 5 and 1.
    case unknownPriority = "UnknownPriority"
    /// Apple has no such push type.
    case unknownPushType = "UnknownPushType"
    /// `on_unknown` is neither retry nor fail.
    case malformedOnUnknown = "MalformedOnUnknown"
    case unknownApp = "UnknownApp"
    /// The push was sent, no answer came, and `on_unknown` is fail.
    case outcomeUnknown = "OutcomeUnknown"
    /// PostgreSQL refused to write the outcome, because of a constraint or trigger for example.
    case unrecorded = "Unrecorded"
    /// PostgreSQL refused to put the push back into the queue.
    case unqueued = "Unqueued"
    /// At least five workers died while the push was in flight, the last two while it was alone.
    case poison = "Poison"
    /// The row is too large for the database's memory, even to read its tokens.
    case unreadable = "Unreadable"

    /// What `failures.reason` says.
    package var name: String { rawValue }
}
