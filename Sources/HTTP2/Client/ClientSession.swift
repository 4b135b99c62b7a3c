import CarillonCNGHTTP2
import CarillonIO

/// The client's side of an HTTP/2 connection, without I/O: received bytes are fed to it, bytes to send are drained from it, and
/// results are read as events. It has no clock and no socket, and belongs to one thread.
///
/// The calls to make after reading from the socket, in order:
///
/// ```swift
/// try session.feed(bytes)                    // throws once, if the session can no longer be used
/// while let event = session.nextEvent() { … }
/// try session.drain(into: &output, limit: 16_384)
/// if session.isFinished { session.end() }  // and read the last events, then close the socket
/// ```
///
/// Every submitted tag gets exactly one ``ClientEvent/answered(tag:_:)`` or ``ClientEvent/ended(tag:_:)``, provided that the
/// session is ended. Check ``isFinished`` after each feed and drain.
package final class ClientSession {
    /// Identifies a header block that requests of a session share.
    package struct FieldsID: Hashable, Sendable {
        let key: SharedMemory.Key
    }

    /// Identifies a body that requests of a session share.
    package struct BodyID: Hashable, Sendable {
        let key: SharedMemory.Key
    }

    /// Identifies a submitted request until its event has been read.
    package struct Submission: Hashable, Sendable {
        /// The number of its stream.
        package let stream: Int32
        let slot: UInt32
    }

    private let session: NGHTTP2Session<ClientStreams>
    private var handle: OpaquePointer { session.handle }
    var streams: UnsafeMutablePointer<ClientStreams> { session.state }

    package init(_ settings: ClientSettings = ClientSettings()) throws(HTTP2Error) {
        session = try NGHTTP2Session(ClientStreams(settings), isServer: false)
        try session.announce(
            [
                (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
                (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, ClientSettings.fieldBytesLimit),
            ],
            connectionWindow: settings.connectionWindow
        )
    }

    // MARK: Requests

    /// Keeps a header block for later requests, until it has been released with ``release(_:)-(FieldsID)`` and the last of those
    /// requests written.
    package func addFields(_ block: HeaderBlock) throws(HTTP2Error) -> FieldsID {
        try block.check()
        let key = streams.pointee.shared.allocate(byteCount: try RequestTexts.byteCount(for: block), count: 0)
        if let memory = streams.pointee.shared[key.index].memory { RequestTexts.write(block, to: memory) }
        return FieldsID(key: key)
    }

    /// Keeps a body for later requests, until it has been released with ``release(_:)-(BodyID)`` and the last of those requests has
    /// sent it.
    package func addBody(_ bytes: RawSpan) -> BodyID {
        BodyID(key: streams.pointee.shared.allocate(copying: bytes))
    }

    /// Releases a header block: no further request uses it.
    package func release(_ fields: FieldsID) { streams.pointee.shared.release(fields.key) }

    /// Releases a body: no further request uses it.
    package func release(_ body: BodyID) { streams.pointee.shared.release(body.key) }

    /// Submits a request. `pathSuffix` is appended to the block's path; `varying` is the value of its varying field, which is left
    /// out if the value is empty. Nothing is sent before ``drain(into:limit:)``. If this throws, the tag gets no event.
    @discardableResult
    package func submit(
        _ fields: FieldsID,
        pathSuffix: RawSpan,
        varying: RawSpan,
        body: BodyID?,
        tag: UInt32
    ) throws(HTTP2Error) -> Submission {
        try checkMayOpen()
        guard let texts = streams.pointee.shared[fields.key]?.memory else {
            throw HTTP2Error(.invalidField, "the header block of this request was released before")
        }
        guard body == nil || streams.pointee.shared[body!.key] != nil else {
            throw HTTP2Error(.invalidField, "the body of this request was released before")
        }
        let longest = VaryingTexts.longest
        guard pathSuffix.byteCount <= longest, varying.byteCount <= longest else {
            throw HTTP2Error(.invalidField, "the path or a field of this request is longer than \(longest) bytes")
        }
        let slot = streams.pointee.take(tag: tag, fields: fields.key.index, body: body?.key.index ?? ClientSlot.none)
        pathSuffix.withUnsafeBytes { path in
            varying.withUnsafeBytes { streams.pointee.varying.keep(path, $0, slot: Int(slot)) }
        }
        let stream = ClientStreams.submit(handle, RequestTexts(at: texts).method, slot: slot, hasBody: body != nil)
        guard stream > 0 else {
            streams.pointee.takeBack(slot)
            throw NGHTTP2.error(stream)
        }
        streams.pointee.opened(slot, stream: stream)
        return Submission(stream: stream, slot: slot)
    }

    /// Cancels a request: its event is queued at once, and the next drain sends the RST_STREAM. Returns false if the request has
    /// already ended. `bytesWritten` is how many of all drained bytes have reached the socket: the peer cannot have acted on a
    /// request whose end is not among them.
    @discardableResult
    package func reset(_ submission: Submission, bytesWritten: UInt64 = .max) -> Bool {
        guard isCurrent(submission),
            streams.pointee.streamReset(submission.slot, bytesWritten: bytesWritten)
        else { return false }
        // Fails only if there is no memory for the frame; the event is valid either way.
        _ = NGHTTP2.reset(handle, submission.stream, .cancel)
        return true
    }

    /// Whether a whole request has reached the socket, which has accepted `bytesWritten` of all drained bytes.
    package func isWritten(_ submission: Submission, bytesWritten: UInt64 = .max) -> Bool {
        !isCurrent(submission) || streams.pointee.slots[Int(submission.slot)].isWritten(bytesWritten: bytesWritten)
    }

    /// Whether the header of the final answer has arrived.
    package func hasStatus(_ submission: Submission) -> Bool {
        isCurrent(submission) && streams.pointee.slots[Int(submission.slot)].flags.contains(.hasStatus)
    }

    /// How many bytes of a request's body have been drained.
    package func bodyBytesDrained(of submission: Submission) -> UInt32 {
        isCurrent(submission) ? streams.pointee.slots[Int(submission.slot)].bodySent : 0
    }

    private func isCurrent(_ submission: Submission) -> Bool {
        submission.slot < streams.pointee.slots.count
            && streams.pointee.slots[Int(submission.slot)].stream == submission.stream
    }

    private func checkMayOpen() throws(HTTP2Error) {
        if let failure = streams.pointee.failure { throw HTTP2Error(.finished, failure.message) }
        if streams.pointee.isDraining {
            throw HTTP2Error(.draining, "this connection takes no more requests; open another")
        }
        if streams.pointee.openCount >= maxStreams {
            throw HTTP2Error(.noFreeStream, "the peer allows no further stream now")
        }
    }

    // MARK: Bytes

    /// Processes bytes from the peer. Throws if the session can no longer be used; then drain what is left to send, and end it.
    package func feed(_ bytes: RawSpan) throws(HTTP2Error) { try session.feed(bytes) }

    /// Appends bytes to send to `output`, frame by frame, until it has at least `limit` bytes or nothing is left to send. Returns
    /// the number of bytes appended.
    @discardableResult
    package func drain(into output: inout [UInt8], limit: Int = .max) throws(HTTP2Error) -> Int {
        try session.drain(into: &output, limit: limit)
    }

    // MARK: Events and state

    /// The next event. Call until it returns nil after each feed, drain, reset and end.
    package func nextEvent() -> ClientEvent? { streams.pointee.nextEvent() }

    /// Reads the body of an answer. Must be called before the next feed.
    package func withBody<R>(of answer: HTTP2Response, _ read: (RawSpan) -> R) -> R {
        read(streams.pointee.answerBytes.pages.span.bytes.extracting(answer.body.range))
    }

    /// Reads a kept field of an answer, empty if the answer lacks it; `index` is its place in ``ClientSettings/keptFields``.
    package func withField<R>(_ index: Int, of answer: HTTP2Response, _ read: (RawSpan) -> R) -> R {
        read(streams.pointee.answerBytes.kept.span.bytes.extracting(answer.fields[index].range))
    }

    /// The debug data of the last GOAWAY, truncated to the settings' body limit; Apple sends `{"reason":…}`.
    package var goAwayDebugData: [UInt8] { streams.pointee.goAwayDebugData }

    /// Ends every open tag. Call this when the session is finished or its socket is closed. `bytesWritten` is how many of all
    /// drained bytes have reached the socket: requests that end beyond them were not sent in full.
    package func end(bytesWritten: UInt64 = .max) {
        if streams.pointee.failure == nil { streams.pointee.failure = HTTP2Error(.finished, "the session was ended") }
        streams.pointee.end(bytesWritten: bytesWritten)
    }

    /// Neither side has anything to send: end it, and close the socket.
    package var isFinished: Bool { session.isFinished }

    /// Whether there seem to be bytes to drain; only draining tells for certain.
    package var wantsToWrite: Bool { session.wantsToWrite }

    /// Whether either side has sent GOAWAY; then no more requests are accepted.
    package var isDraining: Bool { streams.pointee.isDraining }

    /// The error that finished the session; nil if it ended normally.
    package var failure: HTTP2Error? { streams.pointee.failure }

    /// Requests whose streams still exist.
    package var openStreams: Int { streams.pointee.openCount }

    /// The number of streams that the peer's settings allow; 0 until they arrive.
    package var peerMaxStreams: Int {
        guard streams.pointee.hasPeerSettings else { return 0 }
        return Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// How many requests may be open at a time: the lower of the two sides' limits.
    package var maxStreams: Int { min(streams.pointee.settings.maxOpenStreams, peerMaxStreams) }

    /// How many bytes of bodies the peer accepts on all streams together, beyond those that were drained.
    package var sendWindow: Int { Int(nghttp2_session_get_remote_window_size(handle)) }

    /// Bytes of submitted bodies that have not been drained.
    package var bodyBytesWaiting: Int { streams.pointee.bodyBytesWaiting }

    /// Bytes of bodies drained so far.
    package var bodyBytesDrained: UInt64 { streams.pointee.bodyBytesDrained }

    /// Submitted requests that have not been drained to their end.
    package var unwrittenRequests: Int { streams.pointee.unwrittenCount }

    /// Each request that was submitted before this call and is drained to its end after it gets a ``ClientEvent/written(tag:)``
    /// event.
    package func flushEnded() { streams.pointee.flushEnded() }

    /// How many more requests may be submitted now.
    package var freeStreams: Int {
        failure != nil || isDraining ? 0 : max(0, maxStreams - openStreams)
    }

    /// All frames received, even meaningless ones; to be compared with the number of answers.
    package var framesReceived: UInt64 { streams.pointee.frames.count }

    /// WINDOW_UPDATE frames received; to be compared with the number of requests.
    package var windowUpdatesReceived: UInt64 { streams.pointee.frames.windowUpdates }

    // MARK: The connection

    /// Sends a PING with the next drain. The answer causes no event.
    package func ping() throws(HTTP2Error) { try NGHTTP2.check(nghttp2_submit_ping(handle, NGHTTP2.noFlags, nil)) }

    /// Sends a GOAWAY with the next drain. Open requests end with ``end(bytesWritten:)``.
    package func goAway(_ code: ErrorCode = .noError) throws(HTTP2Error) {
        streams.pointee.goAwaySubmitted()
        try NGHTTP2.check(nghttp2_session_terminate_session(handle, code.rawValue))
    }
}
