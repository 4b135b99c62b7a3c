/// How a stream ended without a complete answer.
package struct StreamEnding: Sendable {
    package enum Origin: UInt8, Sendable {
        /// Reset or refused: by the peer, or by nghttp2 for a malformed answer.
        case closed
        /// Reset by ``ClientSession/reset(_:bytesWritten:)``.
        case reset
        /// The session ended: ``ClientSession/end(bytesWritten:)``.
        case sessionEnded
    }

    package let origin: Origin
    package let errorCode: ErrorCode
    /// Whether the peer cannot have acted on the request: it was refused, above the last stream of a GOAWAY, or never written in
    /// full.
    package let isSurelyUnprocessed: Bool
    /// The final status if the header of the answer was complete; otherwise 0.
    package let status: UInt16
}
