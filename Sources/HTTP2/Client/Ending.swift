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
