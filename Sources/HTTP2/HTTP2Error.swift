/// Why the session refused a call, or why it can no longer be used.
package struct HTTP2Error: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The peer broke the protocol, or does not speak HTTP/2.
        package static let protocolViolation = Code(description: "protocolViolation")
        /// The peer sent more than we are willing to keep.
        package static let limitExceeded = Code(description: "limitExceeded")
        /// No stream may be opened now; wait for one to end or for other settings.
        package static let noFreeStream = Code(description: "noFreeStream")
        /// One side has said GOAWAY: open another connection.
        package static let draining = Code(description: "draining")
        /// The stream numbers are used up: open another connection.
        package static let streamsExhausted = Code(description: "streamsExhausted")
        /// A header field that may not be sent.
        package static let invalidField = Code(description: "invalidField")
        /// There is no such stream, or it has ended.
        package static let unknownStream = Code(description: "unknownStream")
        /// The session has failed before, or was swept.
        package static let finished = Code(description: "finished")
        /// The library could not go on, as a rule for want of memory.
        package static let library = Code(description: "library")
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    /// The session ends with this code, for the reason the protocol engine gives.
    static func verdict(_ code: ErrorCode, reason: UnsafeBufferPointer<UInt8>, onFirstFrame: Bool) -> HTTP2Error {
        if onFirstFrame { return HTTP2Error(.protocolViolation, "the peer does not speak HTTP/2") }
        // Spelt as the standard has it, unlike in nghttp2 1.52.
        let said = String(decoding: reason, as: UTF8.self).replacing("ENBLE_PUSH", with: "ENABLE_PUSH")
        return ended(with: code, said.isEmpty ? usualCause(of: code) : said)
    }

    /// The peer has reset so many streams that the protocol engine lets it have no more.
    static func tooManyResets(_ code: ErrorCode) -> HTTP2Error {
        ended(with: code, "the peer reset too many streams; it may reset 1,000 at once, and then 33 a second")
    }

    private static func ended(with code: ErrorCode, _ cause: String?) -> HTTP2Error {
        let detail = cause.map { ": \($0)" } ?? ""
        return HTTP2Error(.protocolViolation, "the HTTP/2 connection was ended with \(code)\(detail)")
    }

    /// What a code stands for where the protocol engine says no more; nil where that could be anything.
    private static func usualCause(of code: ErrorCode) -> String? {
        switch code {
        case .frameSizeError: "a frame has a length that its type, or the SETTINGS, do not allow"
        case .compressionError: "a header block cannot be read (HPACK)"
        case .flowControlError: "more came than a window allows, or a window was made larger than 2,147,483,647 bytes"
        default: nil
        }
    }
}
