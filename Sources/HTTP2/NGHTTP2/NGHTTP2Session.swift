import CarillonCNGHTTP2

/// An nghttp2 session together with the state that it reports to and its memory, which have the same lifetime.
struct NGHTTP2Session<State: NGHTTP2SessionState & ~Copyable>: ~Copyable {
    let handle: OpaquePointer
    let state: UnsafeMutablePointer<State>
    private let pool: UnsafeMutablePointer<MemoryPool>

    init(_ state: consuming State, isServer: Bool) throws(HTTP2Error) {
        let place = UnsafeMutablePointer<State>.allocate(capacity: 1)
        place.initialize(to: state)
        let pool = UnsafeMutablePointer<MemoryPool>.allocate(capacity: 1)
        pool.initialize(to: MemoryPool())
        do {
            handle = try Self.makeHandle(place, pool, isServer: isServer)
        } catch {
            Self.free(place, pool)
            throw error
        }
        self.state = place
        self.pool = pool
    }

    private static func makeHandle(
        _ state: UnsafeMutablePointer<State>,
        _ pool: UnsafeMutablePointer<MemoryPool>,
        isServer: Bool
    ) throws(HTTP2Error) -> OpaquePointer {
        var callbacks: OpaquePointer?
        try NGHTTP2.check(nghttp2_session_callbacks_new(&callbacks))
        defer { nghttp2_session_callbacks_del(callbacks) }
        State.setCallbacks(callbacks)
        var options: OpaquePointer?
        try NGHTTP2.check(nghttp2_option_new(&options))
        defer { nghttp2_option_del(options) }
        nghttp2_option_set_no_closed_streams(options, 1)  // they would only serve priorities, which are not used
        var memory = MemoryPool.functions(pool)
        var handle: OpaquePointer?
        let make = isServer ? nghttp2_session_server_new3 : nghttp2_session_client_new3
        try NGHTTP2.check(make(&handle, callbacks, state, options, &memory))
        guard let handle else { throw NGHTTP2.error(NGHTTP2_ERR_NOMEM.rawValue) }
        return handle
    }

    deinit {
        nghttp2_session_del(handle)
        Self.free(state, pool)
    }

    private static func free(_ state: UnsafeMutablePointer<State>, _ pool: UnsafeMutablePointer<MemoryPool>) {
        state.deinitialize(count: 1)
        state.deallocate()
        pool.deinitialize(count: 1)
        pool.deallocate()
    }

    /// Processes bytes from the peer. Throws if the session can no longer be used.
    func feed(_ bytes: RawSpan) throws(HTTP2Error) {
        if let failure = state.pointee.failure { throw failure }
        let result = bytes.withUnsafeBytes { buffer in
            state.pointee.feeding(buffer)
            return nghttp2_session_mem_recv(
                handle,
                buffer.baseAddress?.assumingMemoryBound(to: UInt8.self),
                buffer.count
            )
        }
        try note(result)
    }

    /// Appends bytes to send until `output` has at least `limit` bytes or nothing is left to send. Returns the number of bytes
    /// appended.
    func drain(into output: inout [UInt8], limit: Int) throws(HTTP2Error) -> Int {
        let before = output.count
        while output.count < limit {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(handle, &bytes)
            guard count > 0, let bytes else {
                try note(count)
                break
            }
            state.pointee.write(UnsafeBufferPointer(start: bytes, count: count), to: &output)
        }
        return output.count - before
    }

    private func note(_ result: Int) throws(HTTP2Error) {
        guard result < 0 else { return }
        let failure = state.pointee.failure ?? NGHTTP2.error(Int32(result))
        state.pointee.failure = failure
        if failure.code == .limitExceeded {
            // Tell the peer. If the frame cannot be queued, the session still fails.
            _ = nghttp2_session_terminate_session(handle, ErrorCode.enhanceYourCalm.rawValue)
        }
        throw failure
    }

    /// Announces the settings, and how much the peer may send ahead on all streams together.
    func announce(_ values: [(nghttp2_settings_id, UInt32)], connectionWindow: Int32) throws(HTTP2Error) {
        try submit(values)
        try NGHTTP2.check(nghttp2_session_set_local_window_size(handle, NGHTTP2.noFlags, 0, connectionWindow))
    }

    func submit(_ values: [(nghttp2_settings_id, UInt32)]) throws(HTTP2Error) {
        let entries = values.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        try NGHTTP2.check(nghttp2_submit_settings(handle, NGHTTP2.noFlags, entries, entries.count))
    }

    /// Whether neither side has anything left to send.
    var isFinished: Bool {
        state.pointee.failure != nil
            || (nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0)
    }

    /// Whether there seem to be bytes to drain; only draining tells for certain.
    var wantsToWrite: Bool { nghttp2_session_want_write(handle) != 0 }
}
