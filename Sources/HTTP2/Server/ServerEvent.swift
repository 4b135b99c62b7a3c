/// What happened in a server session.
package enum ServerEvent: Sendable {
    /// A request came in full. Its bytes stay readable until the next ``ServerSession/nextEvent()`` or feed.
    case request(Request)
    /// The stream of an incomplete request was reset here, for what RFC 9113 forbids or because there were too many streams.
    /// What came of it can be read as that of a request, if the stream was opened at all.
    case refused(Request, ErrorCode)
    /// The peer reset the stream of an incomplete request, or, without a code, the connection ended. What came of it can be
    /// read.
    case abandoned(Request, ErrorCode?)
    /// A stream ended before its response was sent in full: reset by the peer, or malformed.
    case closed(stream: Int32, ErrorCode)
    case settingsAcknowledged
    case goAway(ErrorCode)
    /// The answer to a ping.
    case pong(UInt64)
}
