/// Records each request as the configuration demands: always counts, optionally log lines and requests.
struct Recorder: ~Copyable {
    var counters: Counters
    private(set) var requests: [ReceivedRequest] = []
    private let recordsRequests: Bool
    private let observer: (@Sendable (SimulatorEvent) -> Void)?
    private let failureObserver: (@Sendable (ConnectionFailure) -> Void)?
    private let prefix: [UInt8]
    private var log: LogFile?
    private var lines: [UInt8] = []
    private var line = LogLine()

    init(_ configuration: SimulatorConfiguration) throws(SimulatorError) {
        counters = Counters(rules: configuration.answers)
        recordsRequests = configuration.recordsRequests
        observer = configuration.observer
        failureObserver = configuration.failureObserver
        prefix = Array(configuration.recordedPrefix.utf8)
        if let path = configuration.logFile {
            log = try LogFile(appendingTo: path)
        } else {
            log = nil
        }
    }

    var logs: Bool { log != nil }

    /// Whether more than counts is kept for some requests.
    var keepsRequests: Bool { recordsRequests || observer != nil || logs }

    /// Whether more than counts is kept for this request.
    func keeps(_ head: RequestHead, in bytes: Span<UInt8>) -> Bool {
        guard keepsRequests else { return false }
        guard !prefix.isEmpty else { return true }
        let token = bytes.extracting(head.deviceToken(in: bytes))
        return token.count >= prefix.count && token.extracting(0..<prefix.count).equals(prefix.span)
    }

    /// Adds the line of a request, if there is a log.
    mutating func log(
        _ facts: LogLine.Facts,
        _ head: RequestHead,
        in bytes: Span<UInt8>,
        id: Span<UInt8>,
        payload: Span<UInt8>
    ) {
        guard logs else { return }
        line.append(facts, head: head, in: bytes, id: id, payload: payload, to: &lines)
    }

    /// A delayed answer was sent, or will not be sent for the given reason.
    mutating func settle(_ delayed: DelayedAnswer, unanswered reason: String?) {
        if reason == nil { counters.delayedAnswered(delayed.judgement) }
        guard let request = delayed.request else { return }
        var facts = request.facts
        if let reason { (facts.status, facts.reason, facts.detail) = (nil, nil, reason) }
        let bytes = request.bytes.span
        let payload = bytes.extracting(request.payload)
        log(facts, request.head, in: bytes, id: request.id.span, payload: payload)
    }

    /// Keeps the request and calls the observer. Returns what to pass to ``answered(_:)``.
    mutating func keepRequest(
        _ facts: LogLine.Facts,
        _ head: RequestHead,
        in bytes: Span<UInt8>,
        id: Span<UInt8>,
        payload: Span<UInt8>
    ) -> ReceivedRequest? {
        guard recordsRequests || observer != nil else { return nil }
        func text(_ part: RequestHead.Part, _ bytes: Span<UInt8>) -> String? {
            part.isPresent ? bytes.extracting(part.range).text : nil
        }
        let received = ReceivedRequest(
            time: facts.now,
            connection: facts.connection,
            stream: facts.stream,
            apnsID: id.text,
            token: bytes.extracting(head.deviceToken(in: bytes)).text,
            topic: text(head.topic, bytes),
            pushType: text(head.pushType, bytes),
            priority: text(head.priority, bytes),
            expiration: text(head.expiration, bytes),
            collapseID: text(head.collapseID, bytes),
            authorization: text(head.authorization, bytes),
            channelAction: facts.channelRequest?.action.rawValue,
            channel: facts.channelRequest?.channel,
            payload: payload.array,
            status: facts.status.map(Int.init),
            reason: facts.reason
        )
        if recordsRequests { requests.append(received) }
        guard let observer else { return nil }
        observer(.received(received))
        return received
    }

    /// Records a failed connection at once, because nothing may come after it.
    mutating func failed(_ failure: ConnectionFailure) {
        if failure.isHandshake { counters.rare.failedHandshakes += 1 }
        if logs { line.append(failure, to: &lines) }
        flush()
        failureObserver?(failure)
    }

    func answered(_ received: ReceivedRequest) { observer?(.answered(received)) }

    /// Writes the lines. Call it before sending answers, so that a client that has its answer finds its line.
    mutating func flush() {
        guard !lines.isEmpty else { return }
        if log?.write(lines) == false { counters.rare.logErrors += 1 }
        lines.removeAll(keepingCapacity: true)
    }
}
