package enum ServerEvent: Sendable {
    /// A request has arrived in full. Its bytes stay readable until the next ``ServerSession/nextEvent()`` or feed.
    case request(HTTP2Request)
    /// This side reset the stream of an incomplete request, because it broke RFC 9113 or because there were too many streams. If
    /// the stream was opened at all, the part that arrived can be read like a request.
    case refused(HTTP2Request, ErrorCode)
    /// The peer reset the stream of an incomplete request or, without a code, the connection ended. The part that arrived can be
    /// read.
    case abandoned(HTTP2Request, ErrorCode?)
}
