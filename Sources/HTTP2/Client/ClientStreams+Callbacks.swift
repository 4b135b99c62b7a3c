import CarillonCNGHTTP2

/// nghttp2's callbacks for a client session: each finds the slot and calls ``ClientStreams``.
///
/// A stream's user data is its slot plus one. No callback calls feed or drain, and none keeps a pointer.
extension ClientStreams {
    private typealias State = UnsafeMutablePointer<ClientStreams>

    /// Submits a request whose body, if it has one, is read from the slot's shared block. nghttp2 sees only the method: its frame
    /// is replaced when it is written.
    static func submit(
        _ session: OpaquePointer,
        _ method: UnsafePointer<nghttp2_nv>,
        slot: UInt32,
        hasBody: Bool
    ) -> Int32 {
        let name = UnsafeMutableRawPointer(bitPattern: UInt(slot) + 1)
        guard hasBody else { return nghttp2_submit_request(session, nil, method, 1, nil, name) }
        var provider = nghttp2_data_provider(source: nghttp2_data_source(ptr: name), read_callback: readBody)
        return nghttp2_submit_request(session, nil, method, 1, &provider, name)
    }

    static func setCallbacks(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, context in
            let slot = Self.slot(session, frame!.pointee.hd.stream_id)
            Self.state(context).pointee.headerBegan(slot)
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            let name = UnsafeBufferPointer(start: $2, count: $3)
            let value = UnsafeBufferPointer(start: $4, count: $5)
            let state = Self.state($7)
            return Self.apply(state.pointee.fieldArrived(name: name, value: value), state)
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            guard let slot = Self.slot($0, $2) else { return 0 }
            let state = Self.state($5)
            return Self.apply(state.pointee.bodyArrived(slot, UnsafeBufferPointer(start: $3, count: $4)), state, $0, $2)
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
            Self.frameArrived(session, frame!, Self.state(context))
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { session, frame, context in
            Self.frameWritten(session, frame!, Self.state(context))
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, stream, code, context in
            if let slot = Self.slot(session, stream) {
                Self.state(context).pointee.streamClosed(slot, ErrorCode(rawValue: code))
            }
            return 0  // anything else would leak the stream's header block (CVE-2023-35945)
        }
    }

    private static func frameWritten(_ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>, _ state: State) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            guard let slot = Self.slot(session, header.stream_id) else { return }
            state.pointee.headerFollows(slot, endsStream: NGHTTP2.endsStream(header))
        case NGHTTP2_GOAWAY.rawValue:
            let (code, reason) = NGHTTP2.goAway(frame)
            state.pointee.goAwayWritten(code, reason: reason)
        default: break
        }
    }

    private static func frameArrived(
        _ session: OpaquePointer?,
        _ frame: UnsafePointer<nghttp2_frame>,
        _ state: State
    ) -> Int32 {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            guard let slot = Self.slot(session, header.stream_id) else { return 0 }
            let reaction = state.pointee.headerEnded(slot, endsStream: NGHTTP2.endsStream(header))
            return apply(reaction, state, session, header.stream_id)
        case NGHTTP2_DATA.rawValue:
            guard NGHTTP2.endsStream(header), let slot = Self.slot(session, header.stream_id) else { return 0 }
            return apply(state.pointee.answerEnded(slot), state, session, header.stream_id)
        case NGHTTP2_SETTINGS.rawValue:
            if NGHTTP2.isAcknowledgement(header) {
                state.pointee.settingsAcknowledged()
            } else {
                let settings = frame.pointee.settings
                state.pointee.settingsArrived(UnsafeBufferPointer(start: settings.iv, count: settings.niv))
            }
        case NGHTTP2_GOAWAY.rawValue:
            let (code, debugData) = NGHTTP2.goAway(frame)
            state.pointee.goAwayArrived(frame.pointee.goaway.last_stream_id, code, debugData: debugData)
        default: break
        }
        return 0
    }

    private static func slot(_ session: OpaquePointer?, _ stream: Int32) -> UInt32? {
        guard let name = nghttp2_session_get_stream_user_data(session, stream) else { return nil }
        return UInt32(UInt(bitPattern: name) - 1)
    }

    private static func apply(
        _ reaction: Reaction,
        _ state: State,
        _ session: OpaquePointer? = nil,
        _ stream: Int32 = 0
    ) -> Int32 {
        switch reaction {
        case .fine:
            return 0
        case .reset(let code):
            return NGHTTP2.reset(session, stream, code)
        case .fail(let error):
            if state.pointee.failure == nil { state.pointee.failure = error }
            return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }
}

/// nghttp2 asks for more of a request's body.
private func readBody(
    _ session: OpaquePointer?,
    _ stream: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ room: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let state = ClientStreams.state(context)
    let slot = UInt32(UInt(bitPattern: source!.pointee.ptr) - 1)
    let body = state.pointee.slots[Int(slot)].body
    guard body != ClientSlot.none else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let block = state.pointee.shared[body]
    let sent = Int(state.pointee.slots[Int(slot)].bodySent)
    let count = block.copy(from: sent, to: UnsafeMutableRawBufferPointer(start: buffer, count: room))
    let isLast = sent + count == block.count
    if isLast { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    state.pointee.bodyWritten(slot, count: count, isLast: isLast)
    return count
}
