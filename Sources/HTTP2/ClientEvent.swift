/// What a client session has to tell. Every submitted tag ends in exactly one ``answered`` or ``ended``.
package enum ClientEvent: Sendable {
    /// The peer's settings came or changed; look at ``ClientSession/freeStreams``.
    case settingsChanged
    /// The peer has taken note of our settings.
    case settingsAcknowledged
    /// A request that had to wait for a window, or for the socket, was drained to its end only now.
    case written(tag: UInt32)
    /// A final answer. Its bytes stay readable until the next ``ClientSession/feed(_:)``.
    case answered(tag: UInt32, Answer)
    /// The stream ended without a complete answer.
    case ended(tag: UInt32, Ending)
    /// The peer wants no more streams; ``ClientSession/goAwayDebugData`` may say why.
    case goAway(GoAway)
    /// The answer to a ping.
    case pong(UInt64)
}

/// The peer's last word on which streams it looks at.
package struct GoAway: Hashable, Sendable {
    /// Streams above this one were surely not processed, and have been reported as ended.
    package let lastStream: Int32
    package let errorCode: ErrorCode
}
