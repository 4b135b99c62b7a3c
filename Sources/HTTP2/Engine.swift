import CNGHTTP2

/// What client and server share of dealing with nghttp2.
package enum Engine {
    /// The version of the library that this program runs with, such as `1.52.0`.
    package static var version: String {
        guard let info = nghttp2_version(0) else { return "unknown" }
        return String(cString: info.pointee.version_str)
    }

    static func check(_ result: Int32) throws(HTTP2Error) {
        guard result >= 0 else { throw error(result) }
    }

    /// An error of the library, in our words where they say more.
    static func error(_ result: Int32) -> HTTP2Error {
        switch nghttp2_error(rawValue: result) {
        case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE:
            return HTTP2Error(.streamsExhausted, "this connection has used all its stream numbers; open another")
        case NGHTTP2_ERR_INVALID_STREAM_ID:
            return HTTP2Error(.unknownStream, "this stream has ended, or was answered before")
        case NGHTTP2_ERR_FLOODED:
            return HTTP2Error(.limitExceeded, "the peer sends more than it lets us answer")
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
            return HTTP2Error(.protocolViolation, "the peer does not begin with the HTTP/2 preface")
        default:
            return HTTP2Error(.library, "HTTP/2: \(String(cString: nghttp2_strerror(result)))")
        }
    }

    static func ping(_ session: OpaquePointer, _ value: UInt64) throws(HTTP2Error) {
        var bytes = value.bigEndian
        let result = withUnsafeBytes(of: &bytes) {
            nghttp2_submit_ping(
                session,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                $0.baseAddress?.assumingMemoryBound(to: UInt8.self)
            )
        }
        try check(result)
    }

    /// The eight bytes of a ping as a number.
    static func pingValue(_ frame: UnsafePointer<nghttp2_frame>) -> UInt64 {
        var opaque = frame.pointee.ping.opaque_data
        return withUnsafeBytes(of: &opaque) { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    /// The reason of a GOAWAY and the bytes that came with it.
    static func goAway(_ frame: UnsafePointer<nghttp2_frame>) -> (
        code: ErrorCode, debugData: UnsafeBufferPointer<UInt8>
    ) {
        let goAway = frame.pointee.goaway
        return (
            ErrorCode(rawValue: goAway.error_code),
            UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
        )
    }
}
