/// Why a push is refused here, before any connection is bothered with it: reasons of our own beside Apple's. Their rows
/// in `failures` have no status.
package enum LocalReason: UInt8, CaseIterable, Sendable {
    case malformedToken
    case malformedPayload
    case payloadTooLarge
    case malformedTopic
    case malformedCollapseID
    case unknownPriority
    case unknownPushType
    case malformedOnUnknown
    case unknownApp
    case outcomeUnknown
    case unrecorded
    case unqueued
    case poison
    case unreadable

    /// What `failures.reason` says.
    package var name: String { Self.table[Int(rawValue)].name }

    /// What that means, for the documentation.
    package var meaning: String { Self.table[Int(rawValue)].meaning }

    private static let table: [(name: String, meaning: String)] = [
        ("MalformedToken", "The token is no hexadecimal number of 1 to 256 bytes."),
        ("MalformedPayload", "The payload is no JSON object."),
        ("PayloadTooLarge", "The payload is larger than its push type may be: 4096 bytes, for voip 5120."),
        ("MalformedTopic", "The topic is not 1 to 255 visible ASCII characters."),
        ("MalformedCollapseId", "The collapse id has more than 64 bytes, or control characters, or blanks around it."),
        ("UnknownPriority", "The priority is none of 10, 5 and 1."),
        ("UnknownPushType", "Apple has no such push type."),
        ("MalformedOnUnknown", "on_unknown is neither retry nor fail, so nobody knows whether it may be sent twice."),
        ("UnknownApp", "There is no app with that id."),
        ("OutcomeUnknown", "It was sent and no answer came, and the message says not to send it twice."),
        (
            "Unrecorded",
            "PostgreSQL refused to write what became of it, because of a constraint or trigger, say; the status, if any, is "
                + "APNs' answer."
        ),
        ("Unqueued", "PostgreSQL refused to put it back into the queue, because of a constraint or trigger, say."),
        ("Poison", "Workers died while it was in flight, five at least, the last two while it was alone."),
        ("Unreadable", "The row is too large for the database's memory: not even its tokens can be told apart."),
    ]
}
