import CNGHTTP2

/// Where the protocol engine reports to a server session: each callback finds the slot and tells ``ServerStreams``.
///
/// A stream's name in the engine is one more than its slot while the request comes in, nothing while its answer is
/// awaited, and the complement of its body's block while the answer goes out.
enum ServerCallbacks {
    private typealias State = UnsafeMutablePointer<ServerStreams>

    /// What a stream's name says.
    private enum Name {
        case nothing
        case slot(UInt32)
        case body(UInt32)
    }

    /// An engine that reports to `state` and takes its memory from `pool`.
    static func makeSession(
        _ state: UnsafeMutablePointer<ServerStreams>,
        _ pool: UnsafeMutablePointer<MemoryPool>
    ) throws(HTTP2Error) -> OpaquePointer {
        var callbacks: OpaquePointer?
        try Engine.check(nghttp2_session_callbacks_new(&callbacks))
        defer { nghttp2_session_callbacks_del(callbacks) }
        var options: OpaquePointer?
        try Engine.check(nghttp2_option_new(&options))
        defer { nghttp2_option_del(options) }
        nghttp2_option_set_no_closed_streams(options, 1)  // their places in the priority tree are of no use here
        setHeader(callbacks)
        setRest(callbacks)
        var session: OpaquePointer?
        var memory = MemoryPool.functions(pool)
        try Engine.check(nghttp2_session_server_new3(&session, callbacks, state, options, &memory))
        guard let session else { throw Engine.error(NGHTTP2_ERR_NOMEM.rawValue) }
        return session
    }

    /// Submits a response with a body, which is freed when it was sent or the stream is closed.
    static func respond(
        _ engine: OpaquePointer,
        _ stream: Int32,
        _ fields: UnsafeBufferPointer<nghttp2_nv>,
        body: UInt32
    ) -> Int32 {
        let name = UnsafeMutableRawPointer(bitPattern: ~UInt(body))
        var provider = nghttp2_data_provider(source: nghttp2_data_source(ptr: name), read_callback: readResponse)
        guard case .nothing = self.name(engine, stream),
            nghttp2_session_set_stream_user_data(engine, stream, name) == 0
        else { return NGHTTP2_ERR_INVALID_STREAM_ID.rawValue }
        let result = nghttp2_submit_response(engine, stream, fields.baseAddress, fields.count, &provider)
        if result != 0 { _ = nghttp2_session_set_stream_user_data(engine, stream, nil) }
        return result
    }

    private static func setHeader(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, context in
            let state = Self.state(context)
            let stream = frame!.pointee.hd.stream_id
            if frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
                let slot = state.pointee.requestBegan(stream: stream)
                let name = UnsafeMutableRawPointer(bitPattern: UInt(slot) + 1)
                return nghttp2_session_set_stream_user_data(session, stream, name)
            }
            state.pointee.receiving = Self.slot(session, stream) ?? ServerSlot.none
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            let name = UnsafeBufferPointer(start: $2, count: $3)
            Self.state($7).pointee.fieldArrived(name: name, value: UnsafeBufferPointer(start: $4, count: $5))
            return 0
        }
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, _, _, _, _, _ in
            // By itself the engine would drop the field in silence; we are strict.
            NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
    }

    private static func setRest(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            if let slot = Self.slot($0, $2) { Self.state($5).pointee.bodyArrived(slot, $3, $4) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
            Self.frameArrived(session, frame!, Self.state(context))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { session, frame, context in
            switch UInt32(frame!.pointee.hd.type) {
            case NGHTTP2_GOAWAY.rawValue:
                let (code, reason) = Engine.goAway(frame!)
                Self.state(context).pointee.goAwayWritten(code, reason: reason)
            case NGHTTP2_RST_STREAM.rawValue:
                // With a slot, it is a request that did not come in full.
                guard let slot = Self.slot(session, frame!.pointee.hd.stream_id) else { break }
                let code = ErrorCode(rawValue: frame!.pointee.rst_stream.error_code)
                Self.state(context).pointee.requestRefused(slot, code)
            default: break
            }
            return 0
        }
        setFaults(callbacks)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, stream, code, context in
            let state = Self.state(context)
            let code = ErrorCode(rawValue: code)
            switch Self.name(session, stream) {
            case .nothing: state.pointee.streamClosed(stream, slot: nil, code)
            case .slot(let slot): state.pointee.streamClosed(stream, slot: slot, code)
            case .body(let body):
                state.pointee.shared.release(body)
                state.pointee.streamClosed(stream, slot: nil, code)
            }
            return 0
        }
    }

    private static func setFaults(_ callbacks: OpaquePointer?) {
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

    private static func frameArrived(
        _ session: OpaquePointer?,
        _ frame: UnsafePointer<nghttp2_frame>,
        _ state: State
    ) {
        let header = frame.pointee.hd
        let endsStream = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        let isAcknowledgement = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            guard let slot = Self.slot(session, header.stream_id) else { return }
            state.pointee.headerEnded(slot, endsStream: endsStream)
        case NGHTTP2_DATA.rawValue:
            guard endsStream, let slot = Self.slot(session, header.stream_id) else { return }
            state.pointee.requestEnded(slot)
        case NGHTTP2_SETTINGS.rawValue where isAcknowledgement:
            state.pointee.arrived(.settingsAcknowledged)
        case NGHTTP2_PING.rawValue where isAcknowledgement:
            state.pointee.arrived(.pong(Engine.pingValue(frame)))
        case NGHTTP2_GOAWAY.rawValue:
            state.pointee.arrived(.goAway(Engine.goAway(frame).code))
        default: break
        }
    }

    private static func state(_ context: UnsafeMutableRawPointer?) -> State {
        context!.assumingMemoryBound(to: ServerStreams.self)
    }

    private static func name(_ session: OpaquePointer?, _ stream: Int32) -> Name {
        guard let name = nghttp2_session_get_stream_user_data(session, stream) else { return .nothing }
        let bits = UInt(bitPattern: name)
        return bits > UInt.max / 2 ? .body(UInt32(~bits)) : .slot(UInt32(bits - 1))
    }

    private static func slot(_ session: OpaquePointer?, _ stream: Int32) -> UInt32? {
        if case .slot(let slot) = name(session, stream) { slot } else { nil }
    }
}

/// The protocol engine asks for more of a response's body.
private func readResponse(
    _ session: OpaquePointer?,
    _ stream: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ room: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let state = context!.assumingMemoryBound(to: ServerStreams.self)
    let index = UInt32(~UInt(bitPattern: source!.pointee.ptr))
    let count = state.pointee.shared.read(index, into: UnsafeMutableRawBufferPointer(start: buffer, count: room))
    if state.pointee.shared.isRead(index) { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}
