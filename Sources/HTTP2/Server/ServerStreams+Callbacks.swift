import CarillonCNGHTTP2

/// nghttp2's callbacks for a server session: each finds the slot and calls ``ServerStreams``.
///
/// A stream's user data is its slot plus one while the request arrives, null until it is answered, and the complement of its body's
/// block while the response is sent.
extension ServerStreams {
    private typealias State = UnsafeMutablePointer<ServerStreams>

    /// The meaning of a stream's user data.
    private enum Name {
        case nothing
        case slot(UInt32)
        case body(UInt32)
    }

    /// Submits a response with a body, which is freed once it has been sent or the stream is closed.
    static func respond(
        _ session: OpaquePointer,
        _ stream: Int32,
        _ fields: UnsafeBufferPointer<nghttp2_nv>,
        body: UInt32
    ) -> Int32 {
        let name = UnsafeMutableRawPointer(bitPattern: ~UInt(body))
        var provider = nghttp2_data_provider(source: nghttp2_data_source(ptr: name), read_callback: readResponse)
        guard case .nothing = Self.name(session, stream),
            nghttp2_session_set_stream_user_data(session, stream, name) == 0
        else { return NGHTTP2_ERR_INVALID_STREAM_ID.rawValue }
        let result = nghttp2_submit_response(session, stream, fields.baseAddress, fields.count, &provider)
        if result != 0 { _ = nghttp2_session_set_stream_user_data(session, stream, nil) }
        return result
    }

    static func setCallbacks(_ callbacks: OpaquePointer?) {
        setArriving(callbacks)
        setFaults(callbacks)
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { session, frame, context in
            switch UInt32(frame!.pointee.hd.type) {
            case NGHTTP2_GOAWAY.rawValue:
                let (code, reason) = NGHTTP2.goAway(frame!)
                Self.state(context).pointee.goAwayWritten(code, reason: reason)
            case NGHTTP2_RST_STREAM.rawValue:
                // A stream that still has a slot did not receive its whole request.
                guard let slot = Self.slot(session, frame!.pointee.hd.stream_id) else { break }
                let code = ErrorCode(rawValue: frame!.pointee.rst_stream.error_code)
                Self.state(context).pointee.requestRefused(slot, code)
            default: break
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, stream, code, context in
            let state = Self.state(context)
            var closed: UInt32?
            switch Self.name(session, stream) {
            case .nothing: break
            case .slot(let slot): closed = slot
            case .body(let body): state.pointee.shared.release(body)
            }
            state.pointee.streamClosed(closed, ErrorCode(rawValue: code))
            return 0
        }
    }

    private static func setArriving(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, context in
            let state = Self.state(context)
            let stream = frame!.pointee.hd.stream_id
            if frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
                let slot = state.pointee.requestBegan(stream: stream)
                let name = UnsafeMutableRawPointer(bitPattern: UInt(slot) + 1)
                return nghttp2_session_set_stream_user_data(session, stream, name)
            }
            state.pointee.headerBegan(Self.slot(session, stream))
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            let name = UnsafeBufferPointer(start: $2, count: $3)
            Self.state($7).pointee.fieldArrived(name: name, value: UnsafeBufferPointer(start: $4, count: $5))
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            if let slot = Self.slot($0, $2) { Self.state($5).pointee.bodyArrived(slot, $3, $4) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
            Self.frameArrived(session, frame!, Self.state(context))
            return 0
        }
    }

    private static func setFaults(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, _, _, _, _, _ in
            // By default nghttp2 would drop the field silently.
            NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { session, frame, code, context in
            let state = Self.state(context)
            let header = frame!.pointee.hd
            if code == NGHTTP2_ERR_REFUSED_STREAM.rawValue { state.pointee.streamRefused(header.stream_id) }
            guard let slot = Self.slot(session, header.stream_id) else { return 0 }
            switch UInt32(header.type) {
            case NGHTTP2_WINDOW_UPDATE.rawValue: state.pointee.windowOverflowed(slot)
            case NGHTTP2_HEADERS.rawValue: state.pointee.headerRefused(slot)
            default: break
            }
            return 0
        }
        nghttp2_session_callbacks_set_error_callback2(callbacks) { _, code, words, count, context in
            if code == NGHTTP2_ERR_HTTP_HEADER.rawValue {
                let words = UnsafeRawBufferPointer(start: words, count: count)
                Self.state(context).pointee.fieldRefused(RefusedField(Array(words)))
            }
            return 0
        }
    }

    private static func frameArrived(_ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>, _ state: State) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            guard let slot = Self.slot(session, header.stream_id) else { return }
            state.pointee.headerEnded(slot, endsStream: NGHTTP2.endsStream(header))
        case NGHTTP2_DATA.rawValue:
            guard NGHTTP2.endsStream(header), let slot = Self.slot(session, header.stream_id) else { return }
            state.pointee.requestEnded(slot)
        default: break
        }
    }

    private static func name(_ session: OpaquePointer?, _ stream: Int32) -> Name {
        guard let name = nghttp2_session_get_stream_user_data(session, stream) else { return .nothing }
        let bits = UInt(bitPattern: name)
        return bits > UInt.max / 2 ? .body(UInt32(~bits)) : .slot(UInt32(bits - 1))
    }

    private static func slot(_ session: OpaquePointer?, _ stream: Int32) -> UInt32? {
        if case .slot(let slot) = Self.name(session, stream) { slot } else { nil }
    }
}

/// nghttp2 asks for more of a response's body.
private func readResponse(
    _ session: OpaquePointer?,
    _ stream: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ room: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let state = ServerStreams.state(context)
    let index = UInt32(~UInt(bitPattern: source!.pointee.ptr))
    let memory = UnsafeMutableRawBufferPointer(start: buffer, count: room)
    let (count, isLast) = state.pointee.shared.read(index, into: memory)
    if isLast { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}
