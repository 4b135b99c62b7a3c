/// All that a server session knows of its streams, as a value: what arrives is told to it in the past tense, what it
/// makes of that waits in its queue of events. It calls nobody.
struct ServerStreams: EngineState, ~Copyable {
    /// An event in its shortest form.
    enum Queued {
        case request(slot: UInt32)
        case refused(slot: UInt32, ErrorCode)
        case abandoned(slot: UInt32, ErrorCode?)
        case other(ServerEvent)
    }

    /// The engine ends a connection whose peer resets more streams than that within a moment.
    private static let resetsAtOnce = 1_000

    let settings: ServerSettings
    private(set) var slots: [ServerSlot] = []
    private var firstFree = ServerSlot.none
    private var events = EventQueue<Queued>()
    /// The request whose event was handed out last; its memory is free with the next one.
    private var atReader = ServerSlot.none
    /// The slot of the header block that is being received, or `none`.
    var receiving = ServerSlot.none
    /// For what a stream is reset here, by slot.
    private var faults: [UInt32: String] = [:]
    /// Who reads the bodies that are longer than what is kept, by slot.
    private var bodyReaders: [UInt32: any BodyReader] = [:]
    /// What the peer sends on streams where it may send nothing.
    var lateFrames = LateFrames()
    /// The bodies of responses.
    var shared = SharedMemory()
    private(set) var openCount = 0
    private(set) var isDraining = false
    /// The first thing that went wrong.
    var failure: HTTP2Error?

    init(_ settings: ServerSettings) { self.settings = settings }

    deinit {
        for slot in self.slots { slot.deallocate() }
    }

    // MARK: What arrives

    /// A stream was opened: its slot.
    mutating func requestBegan(stream: Int32) -> UInt32 {
        var index = self.firstFree
        if index == ServerSlot.none {
            index = UInt32(self.slots.count)
            self.slots.append(ServerSlot(fieldCountLimit: self.settings.fieldCountLimit))
        } else {
            self.firstFree = self.slots[Int(index)].nextFree
        }
        self.slots[Int(index)].begin(stream: stream)
        self.receiving = index
        self.openCount += 1
        return index
    }

    mutating func fieldArrived(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard self.receiving != ServerSlot.none else { return }
        let index = Int(self.receiving)
        guard !self.slots[index].hasHeader else { return }
        guard self.slots[index].fieldCount < self.settings.fieldCountLimit,
            self.slots[index].count + name.count + value.count <= 2 * Int(self.settings.maxHeaderListSize)
        else {
            self.slots[index].hasTooManyFields = true
            return
        }
        let start = self.slots[index].count
        self.slots[index].append(name.baseAddress, name.count)
        self.slots[index].append(value.baseAddress, value.count)
        self.slots[index].fields[self.slots[index].fieldCount] = Field(
            name: ByteRange(start: start, count: name.count),
            value: ByteRange(start: start + name.count, count: value.count)
        )
        self.slots[index].fieldCount += 1
    }

    mutating func headerEnded(_ index: UInt32, endsStream: Bool) {
        self.receiving = ServerSlot.none
        if !self.slots[Int(index)].hasHeader {
            self.slots[Int(index)].hasHeader = true
            self.slots[Int(index)].bodyStart = self.slots[Int(index)].count
        }
        if endsStream { self.requestEnded(index) }
    }

    mutating func bodyArrived(_ index: UInt32, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
        let slot = Int(index)
        let room = self.settings.bodyLimit - (self.slots[slot].count - self.slots[slot].bodyStart)
        if count > room { self.bodyOutgrew(index, UnsafeRawBufferPointer(start: bytes, count: count)) }
        self.slots[slot].bodyCount += count
        self.slots[slot].append(bytes, min(count, room))
    }

    private mutating func bodyOutgrew(_ index: UInt32, _ bytes: UnsafeRawBufferPointer) {
        guard let makeReader = self.settings.longBodyReader else { return }
        let reader = self.bodyReaders[index] ?? makeReader()
        if self.bodyReaders[index] == nil {
            self.bodyReaders[index] = reader
            let slot = self.slots[Int(index)]
            let kept = UnsafeRawBufferPointer(start: slot.bytes + slot.bodyStart, count: slot.count - slot.bodyStart)
            reader.add(kept.bytes)
        }
        reader.add(bytes.bytes)
    }

    /// The engine resets the stream for one of its fields, and says so.
    mutating func fieldRefused(_ field: RefusedField) {
        guard self.receiving != ServerSlot.none else { return }
        self.faults[self.receiving] = field.description
    }

    /// The engine resets the stream for a header block as a whole.
    mutating func headerRefused(_ index: UInt32) {
        guard self.slots[Int(index)].hasHeader, self.faults[index] == nil else { return }
        self.faults[index] = ResetCause.openTrailers
    }

    /// The engine resets the stream for what the peer does to its window.
    mutating func windowOverflowed(_ index: UInt32) { self.faults[index] = ResetCause.windowOverflow }

    /// A stream was reset here before its request came in full.
    mutating func requestRefused(_ index: UInt32, _ code: ErrorCode) {
        guard !self.slots[Int(index)].isQueued else { return }
        if self.faults[index] == nil { self.faults[index] = ResetCause.words(on: self.slots[Int(index)], code) }
        self.breakOff(index)
        self.events.append(.refused(slot: index, code))
    }

    /// The connection is over: what has not come in full never will.
    mutating func abandon() {
        for index in self.slots.indices where !self.slots[index].isQueued {
            self.breakOff(UInt32(index))
            self.slots[index].isClosed = true
            self.events.append(.abandoned(slot: UInt32(index), nil))
        }
    }

    /// Whether any request has begun and not come in full.
    var hasIncomplete: Bool { self.slots.contains { !$0.isQueued } }

    /// What is there of a request is all of it.
    private mutating func breakOff(_ index: UInt32) {
        self.slots[Int(index)].isQueued = true
        if !self.slots[Int(index)].hasHeader { self.slots[Int(index)].bodyStart = self.slots[Int(index)].count }
    }

    /// The peer opened a stream too many, of which nothing is known.
    mutating func streamRefused(_ stream: Int32) {
        let nothing = ByteRange(start: 0, count: 0)
        let request = Request(
            stream: stream,
            hasTooManyFields: false,
            isGone: true,
            bodyCount: 0,
            body: nothing,
            slot: ServerSlot.none
        )
        self.events.append(.other(.refused(request, .refusedStream)))
    }

    mutating func requestEnded(_ index: UInt32) {
        guard !self.slots[Int(index)].isQueued else { return }
        self.slots[Int(index)].isQueued = true
        self.events.append(.request(slot: index))
    }

    /// The stream is gone; `index` unless its request was read before.
    mutating func streamClosed(_ stream: Int32, slot index: UInt32?, _ code: ErrorCode) {
        self.openCount -= 1
        if code != .noError { self.events.append(.other(.closed(stream: stream, code))) }
        guard let index else { return }
        if !self.slots[Int(index)].isQueued {
            self.breakOff(index)
            self.events.append(.abandoned(slot: index, code))
        }
        self.slots[Int(index)].isClosed = true
    }

    mutating func arrived(_ event: ServerEvent) { self.events.append(.other(event)) }

    /// Goodbye goes out with the next bytes; with an error it is the protocol engine's verdict on the peer.
    mutating func goAwayWritten(_ code: ErrorCode, reason: UnsafeBufferPointer<UInt8>) {
        guard code != .noError, !self.isDraining, self.failure == nil else { return }
        let hasReset = code == .internalError && self.lateFrames.resets >= Self.resetsAtOnce
        self.failure =
            hasReset ? .tooManyResets(code) : .verdict(code, reason: reason, onFirstFrame: false)
    }

    mutating func goodbyeSaid() { self.isDraining = true }

    // MARK: The engine

    /// Where a request lies there may be another afterwards.
    mutating func feeding(_ bytes: UnsafeRawBufferPointer) {
        self.requestRead()
        self.lateFrames.observe(bytes)
    }

    mutating func drained(_ count: Int) {}

    // MARK: What is read

    /// Whether something happened that was not read yet.
    var hasEvents: Bool { !self.events.isEmpty }

    /// The next event. Of a request, also the stream's number if the engine still has the stream and should forget
    /// the slot.
    mutating func nextEvent() -> (event: ServerEvent, detached: Int32?)? {
        self.requestRead()
        guard let queued = self.events.next() else { return nil }
        switch queued {
        case .other(let event): return (event, nil)
        case .request(let index):
            let request = self.read(index)
            return (.request(request), request.isGone ? nil : request.stream)
        case .refused(let index, let code): return (.refused(self.read(index), code), nil)
        case .abandoned(let index, let code): return (.abandoned(self.read(index), code), nil)
        }
    }

    private mutating func read(_ index: UInt32) -> Request {
        self.atReader = index
        let slot = self.slots[Int(index)]
        let fieldBytes = slot.bodyStart + 32 * slot.fieldCount
        return Request(
            stream: slot.stream,
            hasTooManyFields: slot.hasTooManyFields || fieldBytes > Int(self.settings.maxHeaderListSize),
            isGone: slot.isClosed,
            bodyCount: slot.bodyCount,
            body: ByteRange(start: slot.bodyStart, count: slot.count - slot.bodyStart),
            slot: index
        )
    }

    /// Why a request was refused, as far as it is known.
    func fault(of request: Request) -> String? { self.faults[request.slot] }

    /// Who has read the body of a request, if not all of it was kept.
    func bodyReader(of request: Request) -> (any BodyReader)? { self.bodyReaders[request.slot] }

    /// The reader is done with the request it has.
    mutating func requestRead() {
        guard self.atReader != ServerSlot.none else { return }
        self.recycle(self.atReader)
        self.atReader = ServerSlot.none
    }

    private mutating func recycle(_ index: UInt32) {
        if !self.faults.isEmpty { self.faults[index] = nil }
        if !self.bodyReaders.isEmpty { self.bodyReaders[index] = nil }
        self.slots[Int(index)].isQueued = true
        self.slots[Int(index)].nextFree = self.firstFree
        self.firstFree = index
    }
}
