import CarillonCNGHTTP2
import CarillonIO

/// The state of a client session's streams, as a value: callers report what happened by calling its methods, and it queues events.
struct ClientStreams: EngineState, ~Copyable {
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
    /// The names of the kept fields as bytes.
    let keptNames: [[UInt8]]

    var slots: [ClientSlot] = []
    private var firstFree = ClientSlot.none
    /// The kept fields of all slots, `ClientSlot.keptRoom` bytes each.
    var keptBytes: [UInt8] = []
    /// The bodies of answers, `settings.bodyLimit` bytes a page.
    var pages: [UInt8] = []
    private var freePages: [UInt32] = []
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
    var receiving = ClientSlot.none
    var shared = SharedMemory()
    /// The lowest last stream of all GOAWAY frames so far.
    private(set) var lastStream = Int32.max
    private(set) var goAwayDebugData: [UInt8] = []
    private(set) var hasPeerSettings = false
    private(set) var isDraining = false
    private var hasSubmittedGoAway = false
    private(set) var drained: UInt64 = 0
    /// The request whose HEADERS frame nghttp2 hands out next.
    var outgoing: (slot: UInt32, endsStream: Bool)?
    var failure: HTTP2Error?
    private(set) var frames = FrameCounter()
    private(set) var encoder = RequestEncoder()
    var varying = VaryingTexts()

    init(_ settings: ClientSettings) {
        self.settings = settings
        precondition(settings.keptFields.count <= HTTP2Response.KeptFields.count, "too many kept fields")
        keptNames = settings.keptFields.map { Array($0.utf8) }
    }

    // MARK: Requests

    /// A slot for a request about to be submitted.
    mutating func take(tag: UInt32, fields: UInt32, body: UInt32) -> UInt32 {
        var index = firstFree
        if index == ClientSlot.none {
            index = UInt32(slots.count)
            slots.append(ClientSlot())
            if !keptNames.isEmpty { keptBytes.append(contentsOf: repeatElement(0, count: ClientSlot.keptRoom)) }
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
    mutating func streamReset(_ index: UInt32, _ code: ErrorCode, bytesWritten: UInt64) -> Bool {
        guard !slots[Int(index)].flags.contains(.reported) else { return false }
        reportEnd(index, code, .reset, refused: !isWritten(index, bytesWritten: bytesWritten))
        return true
    }

    /// Whether the whole request is among the first `bytesWritten` bytes.
    func isWritten(_ index: UInt32, bytesWritten: UInt64) -> Bool {
        let slot = slots[Int(index)]
        return slot.flags.contains(.requestEnded) && slot.end <= bytesWritten
    }

    /// The session has ended, and with it every open stream. `bytesWritten` counts the drained bytes that have reached the socket.
    mutating func end(bytesWritten: UInt64) {
        isDraining = true
        for index in slots.indices {
            guard !slots[index].flags.contains(.reported) else { continue }
            let isWritten = self.isWritten(UInt32(index), bytesWritten: bytesWritten)
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

    mutating func begun(_ index: UInt32) { events.append(.begun(slot: index)) }

    /// Queues the event that ends the slot.
    mutating func report(_ index: UInt32, _ event: Queued) {
        slots[Int(index)].flags.insert(.reported)
        events.append(event)
    }

    // MARK: The connection

    mutating func settingsArrived(_ entries: UnsafeBufferPointer<nghttp2_settings_entry>) {
        hasPeerSettings = true
        for entry in entries {
            switch UInt32(entry.settings_id) {
            case NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue: encoder.allow(tableSize: entry.value)
            case NGHTTP2_SETTINGS_MAX_FRAME_SIZE.rawValue: encoder.allow(frameSize: entry.value)
            default: break
            }
        }
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

    // MARK: The engine

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
        let hasBody = slot.page != ClientSlot.none
        return HTTP2Response(
            status: slot.status,
            retryAfter: slot.retryAfter < 0 ? nil : slot.retryAfter,
            isTruncated: slot.flags.contains(.truncated),
            body: hasBody
                ? ByteRange(start: Int(slot.page) * settings.bodyLimit, count: Int(slot.received)) : .empty,
            fields: slot.kept
        )
    }

    private mutating func eventTaken(_ index: UInt32) {
        slots[Int(index)].flags.insert(.taken)
        if slots[Int(index)].flags.contains(.closed) { recycle(index) }
    }

    // MARK: Memory

    private mutating func recycle(_ index: UInt32) {
        // The page's bytes stay readable until the next feed.
        if slots[Int(index)].page != ClientSlot.none { freePages.append(slots[Int(index)].page) }
        slots[Int(index)].page = ClientSlot.none
        slots[Int(index)].stream = 0
        slots[Int(index)].flags = [.reported, .taken, .closed]
        slots[Int(index)].nextFree = firstFree
        firstFree = index
    }

    mutating func takePage() -> UInt32 {
        if let page = freePages.popLast() { return page }
        let page = UInt32(pages.count / settings.bodyLimit)
        pages.append(contentsOf: repeatElement(0, count: settings.bodyLimit))
        return page
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
