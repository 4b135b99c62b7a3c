import CNGHTTP2

/// An engine of nghttp2 together with all that it points to: what it reports to, and where it takes its memory from.
/// They have one life, and this is what feeding and draining are for either side of a connection.
struct OwnedEngine<State: EngineState & ~Copyable>: ~Copyable {
    let session: OpaquePointer
    let state: UnsafeMutablePointer<State>
    private let pool: UnsafeMutablePointer<MemoryPool>

    /// - Parameter makeSession: makes an engine that reports to the state and takes its memory from the pool.
    init(
        _ state: consuming State,
        _ makeSession: (UnsafeMutablePointer<State>, UnsafeMutablePointer<MemoryPool>) throws(HTTP2Error) ->
            OpaquePointer
    ) throws(HTTP2Error) {
        let place = UnsafeMutablePointer<State>.allocate(capacity: 1)
        place.initialize(to: state)
        let pool = UnsafeMutablePointer<MemoryPool>.allocate(capacity: 1)
        pool.initialize(to: MemoryPool())
        do {
            session = try makeSession(place, pool)
        } catch {
            Self.free(place, pool)
            throw error
        }
        self.state = place
        self.pool = pool
    }

    deinit {
        nghttp2_session_del(session)
        Self.free(state, pool)
    }

    private static func free(_ state: UnsafeMutablePointer<State>, _ pool: UnsafeMutablePointer<MemoryPool>) {
        state.deinitialize(count: 1)
        state.deallocate()
        pool.deinitialize(count: 1)
        pool.deallocate()
    }

    /// Takes bytes that the peer sent. Throws when the session is beyond use.
    func feed(_ bytes: RawSpan) throws(HTTP2Error) {
        if let failure = state.pointee.failure { throw failure }
        let result = bytes.withUnsafeBytes { buffer in
            state.pointee.feeding(buffer)
            return nghttp2_session_mem_recv(
                session,
                buffer.baseAddress?.assumingMemoryBound(to: UInt8.self),
                buffer.count
            )
        }
        try note(result)
    }

    /// Appends bytes to send until `output` has `limit` bytes or more, or there are no more. Returns how many.
    func drain(into output: inout [UInt8], limit: Int) throws(HTTP2Error) -> Int {
        let before = output.count
        while output.count < limit {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else {
                try note(count)
                break
            }
            output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
            state.pointee.drained(count)
        }
        return output.count - before
    }

    private func note(_ result: Int) throws(HTTP2Error) {
        guard result < 0 else { return }
        let failure = state.pointee.failure ?? Engine.error(Int32(result))
        state.pointee.failure = failure
        if failure.code == .limitExceeded {
            // A last word to the peer; whether it can still be queued changes nothing.
            _ = nghttp2_session_terminate_session(session, ErrorCode.enhanceYourCalm.rawValue)
        }
        throw failure
    }

    /// Tells the peer what it may do, and how much it may send on all streams together.
    func announce(_ values: [(nghttp2_settings_id, UInt32)], connectionWindow: Int32) throws(HTTP2Error) {
        try submit(values)
        try Engine.check(
            nghttp2_session_set_local_window_size(
                session,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                0,
                connectionWindow
            )
        )
    }

    func submit(_ values: [(nghttp2_settings_id, UInt32)]) throws(HTTP2Error) {
        let entries = values.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        try Engine.check(
            nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        )
    }

    /// Neither side has anything to say.
    var isFinished: Bool {
        state.pointee.failure != nil
            || (nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0)
    }

    /// There are bytes to drain, as far as is known without trying.
    var wantsToWrite: Bool { nghttp2_session_want_write(session) != 0 }
}
