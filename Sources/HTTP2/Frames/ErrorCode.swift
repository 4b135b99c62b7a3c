import CarillonCNGHTTP2

/// Why a stream or a connection was ended, as numbered by RFC 9113, section 7.
package struct ErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = ErrorCode(rawValue: 0x0)
    package static let protocolError = ErrorCode(rawValue: 0x1)
    package static let internalError = ErrorCode(rawValue: 0x2)
    package static let flowControlError = ErrorCode(rawValue: 0x3)
    package static let settingsTimeout = ErrorCode(rawValue: 0x4)
    package static let streamClosed = ErrorCode(rawValue: 0x5)
    package static let frameSizeError = ErrorCode(rawValue: 0x6)
    package static let refusedStream = ErrorCode(rawValue: 0x7)
    package static let cancel = ErrorCode(rawValue: 0x8)
    package static let compressionError = ErrorCode(rawValue: 0x9)
    package static let enhanceYourCalm = ErrorCode(rawValue: 0xb)
}

extension ErrorCode: CustomStringConvertible {
    /// The name in the standard, such as `REFUSED_STREAM`.
    package var description: String {
        let name = String(cString: nghttp2_http2_strerror(rawValue))
        return name == "unknown" ? "error \(rawValue)" : name
    }
}
