import CarillonCNGHTTP2

/// The calls to nghttp2 that the client and the server share.
package enum NGHTTP2 {
    /// The version of nghttp2 at run time, such as `1.52.0`.
    package static var version: String {
        guard let info = nghttp2_version(0) else { return "unknown" }
        return String(cString: info.pointee.version_str)
    }

    static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

    static func check(_ result: Int32) throws(HTTP2Error) {
        guard result >= 0 else { throw error(result) }
    }

    /// An nghttp2 error as an `HTTP2Error`, with clearer text for the common ones.
    static func error(_ result: Int32) -> HTTP2Error {
        switch nghttp2_error(rawValue: result) {
        case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE:
            HTTP2Error(.streamsExhausted, "this connection has used all its stream numbers; open another")
        case NGHTTP2_ERR_INVALID_STREAM_ID:
            HTTP2Error(.unknownStream, "this stream has ended, or was answered before")
        case NGHTTP2_ERR_FLOODED:
            HTTP2Error(.limitExceeded, "the peer sends more than it lets us answer")
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
            HTTP2Error(.protocolViolation, "the peer does not begin with the HTTP/2 preface")
        default:
            HTTP2Error(.library, "HTTP/2: \(String(cString: nghttp2_strerror(result)))")
        }
    }

    static func reset(_ session: OpaquePointer?, _ stream: Int32, _ code: ErrorCode) -> Int32 {
        nghttp2_submit_rst_stream(session, noFlags, stream, code.rawValue)
    }

    static func endsStream(_ header: nghttp2_frame_hd) -> Bool {
        header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    }

    static func isAcknowledgement(_ header: nghttp2_frame_hd) -> Bool {
        header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    }

    static func goAway(_ frame: UnsafePointer<nghttp2_frame>) -> (ErrorCode, debugData: UnsafeBufferPointer<UInt8>) {
        let goAway = frame.pointee.goaway
        return (
            ErrorCode(rawValue: goAway.error_code),
            UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
        )
    }
}
