/// What a server session has to tell.
package enum ServerEvent: Sendable {
    /// A request came in full. Its bytes stay readable until the next ``ServerSession/nextEvent()`` or feed.
    case request(Request)
    /// A request did not come in full: its stream was reset here, for what RFC 9113 forbids or because there were too many
    /// streams. What is there of it can be read as that of a request, if the stream was opened at all.
    case refused(Request, ErrorCode)
    /// A request did not come in full: the peer reset its stream, or, without a code, the connection ended first. What is
    /// there of it can be read.
    case abandoned(Request, ErrorCode?)
    /// A stream ended before its response was sent in full: reset by the peer, or malformed.
    case closed(stream: Int32, ErrorCode)
    /// The peer has taken note of our settings.
    case settingsAcknowledged
    /// The peer says goodbye.
    case goAway(ErrorCode)
    /// The answer to a ping.
    case pong(UInt64)
}
