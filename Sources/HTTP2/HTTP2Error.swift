import CarillonIO

/// Why the session refused a call, or why it can no longer be used.
package struct HTTP2Error: CodedError {
    package enum Code: Sendable {
        /// The peer broke the protocol, or does not use HTTP/2.
        case protocolViolation
        /// The peer exceeded a limit of the session.
        case limitExceeded
        /// No stream may be opened now; wait for one to end or for the peer's settings to change.
        case noFreeStream
        /// One side has sent GOAWAY: open another connection.
        case draining
        /// The stream numbers are used up: open another connection.
        case streamsExhausted
        /// A header field that may not be sent.
        case invalidField
        /// There is no such stream, or it has ended.
        case unknownStream
        /// The session has already failed or was ended.
        case finished
        /// The library could not continue, usually for lack of memory.
        case library
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error for a session that nghttp2 ends with this code and reason.
    static func endedByLibrary(_ code: ErrorCode, reason: UnsafeBufferPointer<UInt8>, onFirstFrame: Bool) -> HTTP2Error
    {
        if onFirstFrame { return HTTP2Error(.protocolViolation, "the peer does not speak HTTP/2") }
        // nghttp2 1.52 misspells ENABLE_PUSH.
        let said = String(decoding: reason, as: UTF8.self).replacing("ENBLE_PUSH", with: "ENABLE_PUSH")
        return ended(with: code, said.isEmpty ? usualCause(of: code) : said)
    }

    /// The error for a peer that has reset so many streams that nghttp2 ends the connection.
    static func tooManyResets(_ code: ErrorCode) -> HTTP2Error {
        ended(with: code, "the peer reset too many streams; it may reset 1,000 at once, and then 33 a second")
    }

    private static func ended(with code: ErrorCode, _ cause: String?) -> HTTP2Error {
        let detail = cause.map { ": \($0)" } ?? ""
        return HTTP2Error(.protocolViolation, "the HTTP/2 connection was ended with \(code)\(detail)")
    }

    /// The usual cause of a code for which nghttp2 gives no reason; nil if there are too many possible causes.
    private static func usualCause(of code: ErrorCode) -> String? {
        switch code {
        case .frameSizeError: "a frame has a length that its type, or the SETTINGS, do not allow"
        case .compressionError: "a header block cannot be read (HPACK)"
        case .flowControlError:
            "more data arrived than a window allows, or a window was made larger than 2,147,483,647 bytes"
        default: nil
        }
    }
}
