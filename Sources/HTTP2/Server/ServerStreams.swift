import CarillonIO

/// The state of a server session's streams, as a value: callers report what happened by calling its methods, and it queues events.
struct ServerStreams: NGHTTP2SessionState, ~Copyable {
    /// An event in its shortest form.
    enum Queued {
        case request(slot: UInt32)
        case refused(slot: UInt32, ErrorCode)
        case abandoned(slot: UInt32, ErrorCode?)
        case unopened(HTTP2Request)
    }

    /// nghttp2 ends a connection whose peer resets more streams than this in quick succession.
    private static let resetsAtOnce = 1_000

    let settings: ServerSettings
    private(set) var slots: [ServerSlot] = []
    private var firstFree = ServerSlot.none
    private var events = EventQueue<Queued>()
    /// The request whose event was read last; its memory is reused once the next event is read.
    private var atReader = ServerSlot.none
    /// The slot of the header block that is being received, or `none`.
    private var receiving = ServerSlot.none
    /// Why this side resets a stream, by slot.
    private var faults: [UInt32: String] = [:]
    /// The readers of bodies that are longer than what is kept, by slot.
    private var bodyReaders: [UInt32: any BodyReader] = [:]
    /// Frames that the peer sends on streams where it may not send any.
    var lateFrames = LateFrames()
    /// The bodies of responses.
    var shared = SharedMemory()
    private(set) var openCount = 0
    private(set) var isDraining = false
    var failure: HTTP2Error?

    init(_ settings: ServerSettings) { self.settings = settings }

    deinit {
        for slot in slots { slot.deallocate() }
    }

    // MARK: What arrives

    /// A stream was opened. Returns its slot.
    mutating func requestBegan(stream: Int32) -> UInt32 {
        var index = firstFree
        if index == ServerSlot.none {
            index = UInt32(slots.count)
            slots.append(ServerSlot())
        } else {
            firstFree = slots[Int(index)].nextFree
        }
        slots[Int(index)].begin(stream: stream)
        receiving = index
        openCount += 1
        return index
    }

    /// A header block begins to arrive that opens no stream, for no known request if `index` is nil.
    mutating func headerBegan(_ index: UInt32?) { receiving = index ?? ServerSlot.none }

    mutating func fieldArrived(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard receiving != ServerSlot.none else { return }
        let index = Int(receiving)
        guard !slots[index].hasHeader else { return }
        guard slots[index].fieldCount < ServerSettings.fieldCountLimit,
            slots[index].count + name.count + value.count <= 2 * ServerSettings.maxHeaderListSize
        else {
            slots[index].hasTooManyFields = true
            return
        }
        let start = slots[index].count
        slots[index].append(name.baseAddress, name.count)
        slots[index].append(value.baseAddress, value.count)
        slots[index].fields[slots[index].fieldCount] = RequestField(
            name: ByteRange(start: start, count: name.count),
            value: ByteRange(start: start + name.count, count: value.count)
        )
        slots[index].fieldCount += 1
    }

    mutating func headerEnded(_ index: UInt32, endsStream: Bool) {
        receiving = ServerSlot.none
        if !slots[Int(index)].hasHeader {
            slots[Int(index)].hasHeader = true
            slots[Int(index)].bodyStart = slots[Int(index)].count
        }
        if endsStream { requestEnded(index) }
    }

    mutating func bodyArrived(_ index: UInt32, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
        let slot = Int(index)
        let room = settings.bodyLimit - (slots[slot].count - slots[slot].bodyStart)
        if count > room { bodyOutgrew(index, UnsafeRawBufferPointer(start: bytes, count: count)) }
        slots[slot].bodyCount += count
        slots[slot].append(bytes, min(count, room))
    }

    private mutating func bodyOutgrew(_ index: UInt32, _ bytes: UnsafeRawBufferPointer) {
        guard let makeReader = settings.longBodyReader else { return }
        let reader = bodyReaders[index] ?? makeReader()
        if bodyReaders[index] == nil {
            bodyReaders[index] = reader
            let slot = slots[Int(index)]
            let kept = UnsafeRawBufferPointer(start: slot.bytes + slot.bodyStart, count: slot.count - slot.bodyStart)
            reader.add(kept.bytes)
        }
        reader.add(bytes.bytes)
    }

    /// nghttp2 resets the stream because of one of its fields.
    mutating func fieldRefused(_ field: RefusedField) {
        guard receiving != ServerSlot.none else { return }
        faults[receiving] = field.description
    }

    /// nghttp2 resets the stream because of a header block as a whole.
    mutating func headerRefused(_ index: UInt32) {
        guard slots[Int(index)].hasHeader, faults[index] == nil else { return }
        faults[index] = ResetCause.openTrailers
    }

    /// nghttp2 resets the stream because of a WINDOW_UPDATE.
    mutating func windowOverflowed(_ index: UInt32) { faults[index] = ResetCause.windowOverflow }

    /// This side reset a stream before its request was complete.
    mutating func requestRefused(_ index: UInt32, _ code: ErrorCode) {
        guard !slots[Int(index)].isQueued else { return }
        if faults[index] == nil { faults[index] = ResetCause.words(on: slots[Int(index)], code) }
        endIncomplete(index)
        events.append(.refused(slot: index, code))
    }

    mutating func abandon() {
        for index in slots.indices where !slots[index].isQueued {
            endIncomplete(UInt32(index))
            slots[index].isClosed = true
            events.append(.abandoned(slot: UInt32(index), nil))
        }
    }

    var hasIncomplete: Bool { slots.contains { !$0.isQueued } }

    /// No more of the request will arrive.
    private mutating func endIncomplete(_ index: UInt32) {
        slots[Int(index)].isQueued = true
        if !slots[Int(index)].hasHeader { slots[Int(index)].bodyStart = slots[Int(index)].count }
    }

    /// The peer opened one stream too many; nothing else is known about it.
    mutating func streamRefused(_ stream: Int32) {
        let request = HTTP2Request(
            stream: stream,
            hasTooManyFields: false,
            isGone: true,
            bodyCount: 0,
            body: .empty,
            slot: ServerSlot.none
        )
        events.append(.unopened(request))
    }

    mutating func requestEnded(_ index: UInt32) {
        guard !slots[Int(index)].isQueued else { return }
        slots[Int(index)].isQueued = true
        events.append(.request(slot: index))
    }

    /// The stream is closed; `index` is nil if its request has already been read.
    mutating func streamClosed(_ index: UInt32?, _ code: ErrorCode) {
        openCount -= 1
        guard let index else { return }
        if !slots[Int(index)].isQueued {
            endIncomplete(index)
            events.append(.abandoned(slot: index, code))
        }
        slots[Int(index)].isClosed = true
    }

    /// A GOAWAY is about to be drained. With an error code, nghttp2 is ending the session because of the peer.
    mutating func goAwayWritten(_ code: ErrorCode, reason: UnsafeBufferPointer<UInt8>) {
        guard code != .noError, !isDraining, failure == nil else { return }
        let hasReset = code == .internalError && lateFrames.resets >= Self.resetsAtOnce
        failure =
            hasReset ? .tooManyResets(code) : .endedByLibrary(code, reason: reason, onFirstFrame: false)
    }

    mutating func goAwaySubmitted() { isDraining = true }

    // MARK: nghttp2

    /// From here on, the memory of the request that was read last may be reused.
    mutating func feeding(_ bytes: UnsafeRawBufferPointer) {
        requestRead()
        lateFrames.observe(bytes)
    }

    // MARK: What is read

    var hasEvents: Bool { !events.isEmpty }

    /// The next event. For a request, also the stream's number if nghttp2 still has the stream and must forget its slot.
    mutating func nextEvent() -> (event: ServerEvent, detached: Int32?)? {
        requestRead()
        guard let queued = events.next() else { return nil }
        switch queued {
        case .unopened(let request): return (.refused(request, .refusedStream), nil)
        case .request(let index):
            let request = read(index)
            return (.request(request), request.isGone ? nil : request.stream)
        case .refused(let index, let code): return (.refused(read(index), code), nil)
        case .abandoned(let index, let code): return (.abandoned(read(index), code), nil)
        }
    }

    private mutating func read(_ index: UInt32) -> HTTP2Request {
        atReader = index
        let slot = slots[Int(index)]
        let fieldBytes = slot.bodyStart + 32 * slot.fieldCount
        return HTTP2Request(
            stream: slot.stream,
            hasTooManyFields: slot.hasTooManyFields || fieldBytes > ServerSettings.maxHeaderListSize,
            isGone: slot.isClosed,
            bodyCount: slot.bodyCount,
            body: ByteRange(start: slot.bodyStart, count: slot.count - slot.bodyStart),
            slot: index
        )
    }

    func fault(of request: HTTP2Request) -> String? { faults[request.slot] }

    func bodyReader(of request: HTTP2Request) -> (any BodyReader)? { bodyReaders[request.slot] }

    mutating func requestRead() {
        guard atReader != ServerSlot.none else { return }
        recycle(atReader)
        atReader = ServerSlot.none
    }

    private mutating func recycle(_ index: UInt32) {
        if !faults.isEmpty { faults[index] = nil }
        if !bodyReaders.isEmpty { bodyReaders[index] = nil }
        slots[Int(index)].isQueued = true
        slots[Int(index)].nextFree = firstFree
        firstFree = index
    }
}
