import CarillonCNGHTTP2

/// The server's side of an HTTP/2 connection, without I/O: received bytes are fed to it, bytes to send are drained from it, and
/// requests are read as events. It has no clock and no socket, and belongs to one thread.
///
/// ```swift
/// try session.feed(bytes)
/// while let event = session.nextEvent() {
///     guard case .request(let request) = event else { … }
///     session.withRequest(request) { bytes, fields in … bytes.extracting(fields[0].value.range) … }
///     try session.respond(to: request.stream, block, body: body.span.bytes)
/// }
/// try session.drain(into: &output, limit: 16_384)
/// if session.isFinished { … close the socket … }
/// ```
package final class ServerSession {
    private let session: NGHTTP2Session<ServerStreams>
    private var handle: OpaquePointer { session.handle }
    private var streams: UnsafeMutablePointer<ServerStreams> { session.state }
    /// Scratch space for the fields of a response, which nghttp2 copies.
    private let scratch: UnsafeMutableBufferPointer<nghttp2_nv>

    package init(_ settings: ServerSettings = ServerSettings()) throws(HTTP2Error) {
        session = try NGHTTP2Session(ServerStreams(settings), isServer: true)
        scratch = .allocate(capacity: Self.scratchCount)
        // Apple names these four, and leaves the window as HTTP/2 has it.
        var values = [
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.headerTableSize),
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, UInt32(HeaderFrames.smallestLimit)),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(ServerSettings.maxHeaderListSize)),
        ]
        if settings.initialWindow != ServerSettings.usualWindow {
            values.append((NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initialWindow))
        }
        try session.announce(values, connectionWindow: settings.connectionWindow)
    }

    deinit { scratch.deallocate() }

    private static let scratchCount = 64

    // MARK: Bytes

    /// Processes bytes from the peer. Throws if the session can no longer be used.
    package func feed(_ bytes: RawSpan) throws(HTTP2Error) {
        try session.feed(bytes)
        for fault in streams.pointee.lateFrames.take() {
            switch fault {
            case .afterReset(let stream): try reset(stream, .streamClosed)
            case .afterEnd(let stream):
                throw ended(by: .streamClosed, "the peer sent more on stream \(stream), which it had ended")
            case .tooLow(let stream):
                throw ended(by: .protocolError, "the peer opened stream \(stream) after one of a higher number")
            }
        }
    }

    /// The peer broke a rule that nghttp2 does not enforce: the next drain sends a GOAWAY.
    private func ended(by code: ErrorCode, _ words: String) -> HTTP2Error {
        // Does nothing if nghttp2 has already found the same fault.
        _ = nghttp2_session_terminate_session(handle, code.rawValue)
        let failure = streams.pointee.failure ?? HTTP2Error(.protocolViolation, words)
        streams.pointee.failure = failure
        return failure
    }

    /// Appends bytes to send to `output`, frame by frame, until it has at least `limit` bytes or nothing is left to send. Returns
    /// the number of bytes appended.
    @discardableResult
    package func drain(into output: inout [UInt8], limit: Int = .max) throws(HTTP2Error) -> Int {
        openWindow()
        return try session.drain(into: &output, limit: limit)
    }

    /// nghttp2 enlarges the connection's window only when half of it has been used. Up to half would then stay unavailable for a
    /// round trip, so this enlarges the window sooner.
    private func openWindow() {
        let used = nghttp2_session_get_effective_recv_data_length(handle)
        guard used > 0, used >= streams.pointee.settings.connectionWindow / 16 else { return }
        // Fails only if there is no memory for the frame; then nghttp2 enlarges the window later.
        _ = nghttp2_submit_window_update(handle, NGHTTP2.noFlags, 0, used)
    }

    // MARK: Requests

    package var hasEvents: Bool { streams.pointee.hasEvents }

    /// Why a request was refused, if that is known.
    package func fault(of request: HTTP2Request) -> String? { streams.pointee.fault(of: request) }

    /// See ``ServerSettings/longBodyReader``.
    package func bodyReader(of request: HTTP2Request) -> (any BodyReader)? { streams.pointee.bodyReader(of: request) }

    /// The connection has ended: each incomplete request becomes an event ``ServerEvent/abandoned(_:_:)``.
    package func abandon() { streams.pointee.abandon() }

    /// Whether any request has begun and is incomplete.
    package var hasIncompleteRequests: Bool { streams.pointee.hasIncomplete }

    /// The next event. Call until it returns nil after each feed and drain.
    package func nextEvent() -> ServerEvent? {
        guard let (event, detached) = streams.pointee.nextEvent() else { return nil }
        if let detached { _ = nghttp2_session_set_stream_user_data(handle, detached, nil) }
        return event
    }

    /// Reads a request: its bytes, and the fields as ranges of them. Valid until the next event is read.
    package func withRequest<R>(_ request: HTTP2Request, _ read: (RawSpan, Span<RequestField>) -> R) -> R {
        guard request.slot != ServerSlot.none else { return read(RawSpan(), Span()) }
        let slot = streams.pointee.slots[Int(request.slot)]
        let bytes = UnsafeRawBufferPointer(start: slot.bytes, count: slot.count)
        let fields = UnsafeBufferPointer(start: slot.fields, count: slot.fieldCount)
        return read(bytes.bytes, fields.span)
    }

    /// Answers a request, at once or later. Everything is copied.
    package func respond(to stream: Int32, _ block: borrowing HeaderBlock, body: RawSpan) throws(HTTP2Error) {
        try block.check()
        let count = min(block.entries.count, scratch.count)
        let result = block.bytes.withUnsafeBufferPointer { bytes in
            let start = UnsafeMutablePointer(mutating: bytes.baseAddress!)
            for index in 0..<count { scratch[index] = block.entries[index].field(in: start) }
            let fields = UnsafeBufferPointer(start: UnsafePointer(scratch.baseAddress!), count: count)
            guard body.byteCount > 0 else {
                return nghttp2_submit_response(handle, stream, fields.baseAddress, fields.count, nil)
            }
            let key = streams.pointee.shared.allocate(copying: body)
            let result = ServerStreams.respond(handle, stream, fields, body: key.index)
            if result != 0 { streams.pointee.shared.release(key) }
            return result
        }
        try NGHTTP2.check(result)
    }

    /// Ends a stream without a response.
    package func reset(_ stream: Int32, _ code: ErrorCode) throws(HTTP2Error) {
        try NGHTTP2.check(NGHTTP2.reset(handle, stream, code))
    }

    // MARK: The connection

    /// Changes how many streams the peer may have open.
    package func allow(maxConcurrentStreams: UInt32) throws(HTTP2Error) {
        try session.submit([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams)])
    }

    /// Sends a GOAWAY: streams above `last`, by default the highest so far, are ignored from now on. With `Int32.max` and no error
    /// it only announces a later GOAWAY, and new streams are still accepted.
    package func goAway(last: Int32? = nil, _ code: ErrorCode = .noError, debugData: [UInt8] = []) throws(HTTP2Error) {
        if last == .max, code == .noError, debugData.isEmpty {
            return try NGHTTP2.check(nghttp2_submit_shutdown_notice(handle))
        }
        streams.pointee.goAwaySubmitted()
        try NGHTTP2.check(
            nghttp2_submit_goaway(
                handle,
                NGHTTP2.noFlags,
                last ?? nghttp2_session_get_last_proc_stream_id(handle),
                code.rawValue,
                debugData,
                debugData.count
            )
        )
    }

    // MARK: State

    /// Whether neither side has anything left to send; then close the socket.
    package var isFinished: Bool { session.isFinished }

    /// Whether this side has sent a GOAWAY.
    package var isDraining: Bool { streams.pointee.isDraining }

    /// The error that finished the session; nil if it ended normally.
    package var failure: HTTP2Error? { streams.pointee.failure }

    /// See ``FrameWalk/unfinished``.
    package var unfinished: Int? { streams.pointee.lateFrames.unfinished }

    /// Streams that exist, answered or not.
    package var openStreams: Int { streams.pointee.openCount }
}
