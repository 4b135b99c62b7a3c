/// How a stream ended that was not answered in full.
package struct Ending: Sendable {
    package enum Origin: UInt8, Sendable {
        /// The stream was reset or refused: by the peer, or by the protocol engine for a malformed answer.
        case closed
        /// We reset it: ``ClientSession/reset(_:_:)``.
        case reset
        /// The session ended under it: ``ClientSession/sweep(bytesWritten:)``.
        case swept
    }

    package let origin: Origin
    package let errorCode: ErrorCode
    /// The peer cannot have acted on the request: refused, above the last stream of a GOAWAY, or never written.
    package let isSurelyUnprocessed: Bool
    /// The final status, if at least the header of an answer was complete; otherwise 0.
    package let status: UInt16
}
