/// What a server session has to tell.
package enum ServerEvent: Sendable {
    /// A request came in full. Its bytes stay readable until the next ``ServerSession/nextEvent()`` or feed.
    case request(Request)
    /// A stream ended before its response was sent in full: reset by the peer, or malformed.
    case closed(stream: Int32, ErrorCode)
    /// The peer has taken note of our settings.
    case settingsAcknowledged
    /// The peer says goodbye.
    case goAway(ErrorCode)
    /// The answer to a ping.
    case pong(UInt64)
}
