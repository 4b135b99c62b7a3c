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

/// A request. The bytes it refers to are the session's: ``ServerSession/withRequest(_:_:)``.
package struct Request: Sendable {
    package let stream: Int32
    /// The header fields exceeded the limits; the first of them are here.
    package let hasTooManyFields: Bool
    /// The stream ended before the request was read, so it cannot be answered.
    package let isGone: Bool
    /// The length of the whole body, kept or not.
    package let bodyCount: Int
    /// The body, or its beginning, in the request's bytes.
    package let body: ByteRange
    let slot: UInt32

    /// The body was longer than the limit; only its beginning was kept.
    package var isBodyTooLarge: Bool { bodyCount > Int(body.count) }
}

/// A header field of a request: the places of its name and value in the request's bytes. Pseudo fields come first.
package struct Field: Sendable {
    package let name: ByteRange
    package let value: ByteRange
}
