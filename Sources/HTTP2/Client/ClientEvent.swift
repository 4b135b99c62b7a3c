/// What happened in a client session. Every submitted tag ends in exactly one ``answered`` or ``ended``.
package enum ClientEvent: Sendable {
    /// The peer's settings came or changed: see ``ClientSession/freeStreams``.
    case settingsChanged
    case settingsAcknowledged
    /// A request that had to wait for a window, or for the socket, was drained to its end only now.
    case written(tag: UInt32)
    /// A final answer. Its bytes stay readable until the next ``ClientSession/feed(_:)``.
    case answered(tag: UInt32, Answer)
    /// The stream ended without a complete answer.
    case ended(tag: UInt32, Ending)
    /// The peer accepts no more streams; ``ClientSession/goAwayDebugData`` may give the reason.
    case goAway(GoAway)
    /// The answer to a ping.
    case pong(UInt64)
}

package struct GoAway: Hashable, Sendable {
    /// Streams above this one were not processed, and have been reported as ended.
    package let lastStream: Int32
    package let errorCode: ErrorCode
}

/// How a stream ended that was not answered in full.
package struct Ending: Sendable {
    package enum Origin: UInt8, Sendable {
        /// Reset or refused: by the peer, or by nghttp2 for a malformed answer.
        case closed
        /// Reset by ``ClientSession/reset(_:_:bytesWritten:)``.
        case reset
        /// The session ended: ``ClientSession/end(bytesWritten:)``.
        case sessionEnded
    }

    package let origin: Origin
    package let errorCode: ErrorCode
    /// The peer cannot have acted on the request: refused, above the last stream of a GOAWAY, or never written.
    package let isSurelyUnprocessed: Bool
    /// The final status, if at least the header of an answer was complete; otherwise 0.
    package let status: UInt16
}

/// A response. The bytes it refers to are the session's.
package struct Answer: Sendable {
    /// Where the kept fields are; empty for one that did not come.
    typealias KeptFields = InlineArray<2, ByteRange>

    package let status: UInt16
    /// Seconds to wait, where the peer sent them as a number.
    package let retryAfter: Int32?
    /// The body was longer than the limit; only its beginning was kept.
    package let isTruncated: Bool
    let body: ByteRange
    let fields: KeptFields

    /// Whether that kept field came; `index` counts in ``ClientSettings/keptFields``.
    package func hasField(_ index: Int) -> Bool { fields[index].count > 0 }

    /// The length of the body, as far as it was kept.
    package var bodyCount: Int { Int(body.count) }
}
