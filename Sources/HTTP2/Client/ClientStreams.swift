import CarillonCNGHTTP2

/// The state of a client session's streams, as a value: callers report what happened by calling its methods, and it queues events.
struct ClientStreams: NGHTTP2SessionState, ~Copyable {
    /// What nghttp2 must do with a stream after something arrived on it.
    enum Reaction {
        case fine
        /// Reset this stream; its event is in the queue.
        case reset(ErrorCode)
        /// End the whole session.
        case fail(HTTP2Error)
    }

    /// An event in its shortest form.
    enum Queued {
        case written(tag: UInt32)
        case begun(slot: UInt32)
        case answered(slot: UInt32)
        case ended(slot: UInt32, ErrorCode, StreamEnding.Origin, isSurelyUnprocessed: Bool)
        case settingsChanged
        case settingsAcknowledged
        case goAway(ErrorCode)
    }

    let settings: ClientSettings

    private(set) var slots: [ClientSlot] = []
    private var firstFree = ClientSlot.none
    private(set) var answerBytes: AnswerBytes
    private var events = EventQueue<Queued>()

    /// Streams that nghttp2 has not closed yet.
    private(set) var openCount = 0
    /// Requests that have not been drained to their end.
    private(set) var unwrittenCount = 0
    /// Bytes of bodies not yet drained, and drained so far.
    private(set) var bodyBytesWaiting = 0
    private(set) var bodyBytesDrained: UInt64 = 0
    /// The number of the current flush. A request that is drained to its end in the flush of its submission needs no event.
    private var flush: UInt32 = 0
    /// The slot of the header block that is being received, or `none`.
    private var receiving = ClientSlot.none
    var shared = SharedMemory()
    /// The lowest last stream of all GOAWAY frames so far.
    private var lastStream = Int32.max
    private(set) var goAwayDebugData: [UInt8] = []
    private(set) var hasPeerSettings = false
    private(set) var isDraining = false
    private var hasSubmittedGoAway = false
    private var drained: UInt64 = 0
    /// The request whose HEADERS frame nghttp2 hands out next.
    private var outgoing: (slot: UInt32, endsStream: Bool)?
    var failure: HTTP2Error?
    private(set) var frames = FrameCounter()
    private(set) var encoder = RequestEncoder()
    var varying = VaryingTexts()

    init(_ settings: ClientSettings) {
        self.settings = settings
        answerBytes = AnswerBytes(settings)
    }

    // MARK: Requests

    /// A slot for a request about to be submitted.
    mutating func take(tag: UInt32, fields: UInt32, body: UInt32) -> UInt32 {
        var index = firstFree
        if index == ClientSlot.none {
            index = UInt32(slots.count)
            slots.append(ClientSlot())
            answerBytes.addSlot()
        } else {
            firstFree = slots[Int(index)].nextFree
            slots[Int(index)] = ClientSlot()
        }
        slots[Int(index)].tag = tag
        slots[Int(index)].fields = fields
        slots[Int(index)].body = body
        slots[Int(index)].flush = flush
        shared.addReader(fields)
        if body != ClientSlot.none {
            shared.addReader(body)
            bodyBytesWaiting += shared[body].count
        }
        openCount += 1
        unwrittenCount += 1
        return index
    }

    /// Takes back a slot whose request nghttp2 did not accept.
    mutating func takeBack(_ index: UInt32) {
        openCount -= 1
        unwrittenCount -= 1
        releaseShared(index)
        recycle(index)
    }

    /// nghttp2 has accepted the request, on this stream.
    mutating func opened(_ index: UInt32, stream: Int32) { slots[Int(index)].stream = stream }

    /// nghttp2 hands out the request's HEADERS frame next.
    mutating func headerFollows(_ index: UInt32, endsStream: Bool) { outgoing = (index, endsStream) }

    /// The request's header is drained: `frame` is nghttp2's, which lacks all fields but one.
    private mutating func writeHeader(
        _ index: UInt32,
        replacing frame: UnsafeBufferPointer<UInt8>,
        endsStream: Bool,
        to output: inout [UInt8]
    ) {
        let before = output.count
        // The slot reads the block until here.
        if let memory = shared[slots[Int(index)].fields].memory {
            let (path, varying) = self.varying.texts(slot: Int(index))
            encoder.write(RequestTexts(at: memory), path: path, varying: varying, replacing: frame, to: &output)
        }
        slots[Int(index)].flags.insert(.written)
        releaseFields(index)
        if endsStream { requestWritten(index, byteCount: output.count - before) }
    }

    /// `count` bytes of the request's body are about to be drained, in one frame.
    mutating func bodyWritten(_ index: UInt32, count: Int, isLast: Bool) {
        slots[Int(index)].bodySent += UInt32(count)
        bodyBytesWaiting -= count
        bodyBytesDrained &+= UInt64(count)
        guard isLast else { return }
        releaseBody(index)
        requestWritten(index, byteCount: HeaderFrames.headerSize + count)
    }

    private mutating func requestWritten(_ index: UInt32, byteCount: Int) {
        let slot = slots[Int(index)]
        slots[Int(index)].flags.insert(.requestEnded)
        slots[Int(index)].end = drained &+ UInt64(byteCount)
        unwrittenCount -= 1
        if slot.flush != flush, !slot.flags.contains(.reported) { events.append(.written(tag: slot.tag)) }
    }

    /// Requests submitted before this and not yet drained have had to wait.
    mutating func flushEnded() { flush &+= 1 }

    // MARK: What arrives

    /// A header block begins to arrive, for no known request if `index` is nil.
    mutating func headerBegan(_ index: UInt32?) { receiving = index ?? ClientSlot.none }

    /// A field of the header block that is being received.
    mutating func fieldArrived(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Reaction {
        guard receiving != ClientSlot.none else { return .fine }
        let index = Int(receiving)
        slots[index].fieldCount &+= 1
        slots[index].fieldBytes &+= UInt32(truncatingIfNeeded: name.count &+ value.count)
        guard
            slots[index].fieldCount <= ClientSettings.fieldCountLimit,
            slots[index].fieldBytes <= ClientSettings.fieldBytesLimit
        else {
            return .fail(HTTP2Error(.limitExceeded, "the peer's answer has too many header fields"))
        }
        guard !slots[index].flags.contains(.hasStatus) else { return .fine }  // trailers
        if name.count == 7, name[0] == UInt8(ascii: ":") {
            // nghttp2 has checked that `:status` appears once, before all other fields, and has three digits.
            slots[index].status = value.reduce(0) { $0 &* 10 &+ UInt16($1 &- 48) }
        } else if name.count == 11, name.elementsEqual("retry-after".utf8) {
            slots[index].retryAfter = ClientSlot.seconds(value)
        } else {
            answerBytes.keep(name, value, of: &slots[index], at: index)
        }
        return .fine
    }

    mutating func headerEnded(_ index: UInt32, endsStream: Bool) -> Reaction {
        receiving = ClientSlot.none
        let slot = Int(index)
        guard !slots[slot].flags.contains(.reported) else { return .fine }
        if slots[slot].flags.contains(.hasStatus) {
            // Trailers are not kept.
        } else if slots[slot].status / 100 == 1 {
            slots[slot].dropInterim()
            guard slots[slot].interimCount <= ClientSettings.interimLimit else {
                return .fail(HTTP2Error(.limitExceeded, "the peer keeps sending interim answers"))
            }
        } else if slots[slot].status < 200 {
            report(index, .ended(slot: index, .protocolError, .closed, isSurelyUnprocessed: false))
            return .reset(.protocolError)
        } else {
            slots[slot].flags.insert(.hasStatus)
            if slots[slot].status == 200, !endsStream { events.append(.begun(slot: index)) }
        }
        return endsStream ? answerEnded(index) : .fine
    }

    mutating func bodyArrived(_ index: UInt32, _ bytes: UnsafeBufferPointer<UInt8>) -> Reaction {
        let slot = Int(index)
        guard !slots[slot].flags.contains(.reported) else { return .fine }
        let count = answerBytes.append(bytes, to: &slots[slot])
        guard count < bytes.count, slots[slot].flags.contains(.hasStatus) else { return .fine }
        slots[slot].flags.insert(.truncated)
        report(index, .answered(slot: index))
        return .reset(.cancel)
    }

    mutating func answerEnded(_ index: UInt32) -> Reaction {
        let slot = Int(index)
        slots[slot].flags.insert(.answerEnded)
        // Usually the stream closes at once and is reported then. If the answer came before the request was fully drained, the
        // answer is complete all the same, and the rest of the request is not sent.
        guard slots[slot].flags.isDisjoint(with: [.requestEnded, .reported]),
            slots[slot].flags.contains(.hasStatus)
        else { return .fine }
        report(index, .answered(slot: index))
        return .reset(.cancel)
    }

    // MARK: The end of a stream

    /// nghttp2 has closed the stream, for whatever reason.
    mutating func streamClosed(_ index: UInt32, _ code: ErrorCode) {
        let flags = slots[Int(index)].flags
        guard !flags.contains(.closed) else { return }
        openCount -= 1
        if !flags.contains(.requestEnded) { unwrittenCount -= 1 }
        slots[Int(index)].flags.insert(.closed)
        releaseShared(index)
        if flags.contains(.reported) {
            if flags.contains(.taken) { recycle(index) }
        } else if flags.isSuperset(of: [.hasStatus, .answerEnded]) {
            report(index, .answered(slot: index))
        } else {
            reportEnd(index, code, .closed, refused: code == .refusedStream && !flags.contains(.hasStatus))
        }
    }

    /// This side resets the stream. Returns false if its event was already queued. `bytesWritten` counts the drained bytes that
    /// have reached the socket.
    mutating func streamReset(_ index: UInt32, bytesWritten: UInt64) -> Bool {
        guard !slots[Int(index)].flags.contains(.reported) else { return false }
        reportEnd(index, .cancel, .reset, refused: !slots[Int(index)].isWritten(bytesWritten: bytesWritten))
        return true
    }

    /// The session has ended, and with it every open stream. `bytesWritten` counts the drained bytes that have reached the socket.
    mutating func end(bytesWritten: UInt64) {
        isDraining = true
        for index in slots.indices {
            guard !slots[index].flags.contains(.reported) else { continue }
            let isWritten = slots[index].isWritten(bytesWritten: bytesWritten)
            reportEnd(UInt32(index), .noError, .sessionEnded, refused: !isWritten)
        }
    }

    /// Ends the requests that nghttp2 no longer sends; it may report that late.
    private mutating func refuseUnwritten() {
        for index in slots.indices where slots[index].flags.isDisjoint(with: [.written, .reported]) {
            reportEnd(UInt32(index), .refusedStream, .closed, refused: true)
        }
    }

    private mutating func reportEnd(_ index: UInt32, _ code: ErrorCode, _ origin: StreamEnding.Origin, refused: Bool) {
        let slot = slots[Int(index)]
        // A peer that has answered may have acted on the part of the request that it received.
        let isUnprocessed =
            !slot.flags.contains(.hasStatus)
            && (refused || slot.stream > lastStream || !slot.flags.contains(.requestEnded))
        report(index, .ended(slot: index, code, origin, isSurelyUnprocessed: isUnprocessed))
    }

    /// Queues the event that ends the slot.
    private mutating func report(_ index: UInt32, _ event: Queued) {
        slots[Int(index)].flags.insert(.reported)
        events.append(event)
    }

    // MARK: The connection

    mutating func settingsArrived(_ entries: UnsafeBufferPointer<nghttp2_settings_entry>) {
        hasPeerSettings = true
        encoder.settingsArrived(entries)
        events.append(.settingsChanged)
    }

    mutating func settingsAcknowledged() { events.append(.settingsAcknowledged) }

    mutating func goAwayArrived(_ lastStream: Int32, _ code: ErrorCode, debugData: UnsafeBufferPointer<UInt8>) {
        if !isDraining { refuseUnwritten() }
        isDraining = true
        self.lastStream = min(self.lastStream, lastStream)
        goAwayDebugData = Array(debugData.prefix(settings.bodyLimit))
        events.append(.goAway(code))
    }

    /// A GOAWAY is about to be drained. With an error code, nghttp2 is ending the session because of the peer.
    mutating func goAwayWritten(_ code: ErrorCode, reason: UnsafeBufferPointer<UInt8>) {
        isDraining = true
        guard code != .noError, !hasSubmittedGoAway, failure == nil else { return }
        failure = .endedByLibrary(code, reason: reason, onFirstFrame: !hasPeerSettings)
    }

    /// This side sends the GOAWAY by choice, not because of an error of the peer.
    mutating func goAwaySubmitted() {
        isDraining = true
        hasSubmittedGoAway = true
    }

    // MARK: nghttp2

    mutating func feeding(_ bytes: UnsafeRawBufferPointer) { frames.observe(bytes) }

    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        let before = output.count
        if let (slot, endsStream) = outgoing.take() {
            writeHeader(slot, replacing: bytes, endsStream: endsStream, to: &output)
        } else {
            output.append(contentsOf: bytes)
        }
        drained &+= UInt64(output.count - before)
    }

    // MARK: Events

    mutating func nextEvent() -> ClientEvent? {
        guard let queued = events.next() else { return nil }
        switch queued {
        case .written(let tag): return .written(tag: tag)
        case .begun(let index):
            return .begun(ClientSession.Submission(stream: slots[Int(index)].stream, slot: index))
        case .answered(let index):
            let tag = slots[Int(index)].tag
            let answer = self.answer(index)
            eventTaken(index)
            return .answered(tag: tag, answer)
        case .ended(let index, let code, let origin, let isUnprocessed):
            let slot = slots[Int(index)]
            eventTaken(index)
            let status = slot.flags.contains(.hasStatus) ? slot.status : 0
            let ending = StreamEnding(
                origin: origin,
                errorCode: code,
                isSurelyUnprocessed: isUnprocessed,
                status: status
            )
            return .ended(tag: slot.tag, ending)
        case .settingsChanged: return .settingsChanged
        case .settingsAcknowledged: return .settingsAcknowledged
        case .goAway(let code): return .goAway(code)
        }
    }

    private func answer(_ index: UInt32) -> HTTP2Response {
        let slot = slots[Int(index)]
        return HTTP2Response(
            status: slot.status,
            retryAfter: slot.retryAfter < 0 ? nil : slot.retryAfter,
            isTruncated: slot.flags.contains(.truncated),
            body: answerBytes.body(of: slot),
            fields: slot.kept
        )
    }

    private mutating func eventTaken(_ index: UInt32) {
        slots[Int(index)].flags.insert(.taken)
        if slots[Int(index)].flags.contains(.closed) { recycle(index) }
    }

    // MARK: Memory

    private mutating func recycle(_ index: UInt32) {
        answerBytes.releasePage(of: &slots[Int(index)])
        slots[Int(index)].stream = 0
        slots[Int(index)].flags = [.reported, .taken, .closed]
        slots[Int(index)].nextFree = firstFree
        firstFree = index
    }

    private mutating func releaseFields(_ index: UInt32) {
        guard slots[Int(index)].fields != ClientSlot.none else { return }
        shared.removeReader(slots[Int(index)].fields)
        slots[Int(index)].fields = ClientSlot.none
    }

    private mutating func releaseBody(_ index: UInt32) {
        let slot = slots[Int(index)]
        guard slot.body != ClientSlot.none else { return }
        bodyBytesWaiting -= shared[slot.body].count - Int(slot.bodySent)
        shared.removeReader(slot.body)
        slots[Int(index)].body = ClientSlot.none
    }

    private mutating func releaseShared(_ index: UInt32) {
        releaseFields(index)
        releaseBody(index)
    }
}
