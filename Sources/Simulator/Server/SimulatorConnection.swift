import HTTP2
import IO
import TLS

/// One connection after its handshake: bytes in, verdicts, bytes out. All of it runs on the server's loop.
final class SimulatorConnection {
    /// What the connection waits for now.
    enum Next: Equatable {
        case ready(Interest)
        /// There may be more to read already: give others their turn and come back.
        case again
        case closed
    }

    /// How often a turn reads before it answers and lets others have theirs.
    private static let readsPerTurn = 16

    let number: Int
    private var stream: TLSStream
    private let session: ServerSession
    private var state: ConnectionState
    private var isTrusted: Bool
    private var held = HeldAnswers()
    private var outbox = Outbox()
    /// Of the request that is being judged: what the observer is told once it is answered, and what waits with its answer.
    private var judgedDelivery: Delivery?
    private var judgedRequest: HeldRequest?
    /// What the observer is told of as soon as all that waits is written.
    private var answered: [Delivery] = []
    private var highestStream: Int32 = 0
    /// Set by GOAWAY: what came on higher streams counts as never seen.
    private var lastStream = Int32.max
    /// Whether the client has said anything.
    private var hasRead = false
    /// The connection ended by a fault of the peer's.
    private(set) var hasFailed = false

    init(
        number: Int,
        stream: consuming TLSStream,
        credential: ClientCredential,
        desk: borrowing Desk
    ) throws(HTTP2Error) {
        self.number = number
        self.stream = stream
        state = ConnectionState(credential: credential)
        isTrusted = state.isTrusted
        var settings = ServerSettings()
        settings.maxConcurrentStreams = desk.streams(isTrusted: isTrusted)
        settings.connectionWindow = desk.window
        settings.initialWindow = UInt32(desk.window)
        settings.bodyLimit = 16_384  // beyond what any push may have, so that the log shows what was wrong
        if desk.recorder.logs { settings.longBodyReader = { RunningDigest() } }
        session = try ServerSession(settings)
    }

    var descriptor: CInt { stream.descriptor }

    /// When an answer that is held back must go out.
    var nextDue: MonotonicInstant? { held.nextDue }

    /// What the client has begun to send and not completed: see ``ServerSession/unfinished``.
    var unfinished: Int? { session.unfinished }

    /// Reads what there is, judges it, and writes the answers: the log first, so that whoever has an answer finds its
    /// line there.
    func turn(_ desk: inout Desk) -> Next {
        desk.readClock()
        do {
            let mayRead = try flush(&desk) == .ready(.read)
            let reading = mayRead ? try read(&desk) : .ready(.write)
            if reading == .closed { return .closed }
            try answerHeld(&desk)
            let writing = try answer(&desk)
            if session.isFinished, session.failure != nil || held.nextDue == nil {
                if let failure = session.failure { tell(failure.message, &desk) }
                stream.closeNotify()
                return .closed
            }
            return writing == .ready(.read) ? reading : writing
        } catch {
            if let failure = error as? HTTP2Error { tell(failure.message, &desk) } else { tellCut(&desk) }
            desk.recorder.flush()
            // What is wrong with the peer is told in the GOAWAY that the session has ready.
            _ = try? flush(&desk)
            stream.closeNotify()
            return .closed
        }
    }

    /// The client has left something incomplete for too long: it is told goodbye.
    func stalled(_ desk: inout Desk) {
        desk.readClock()
        tell(Stall.words(unfinished), &desk)
        close(&desk)
    }

    /// Says goodbye, as far as the socket takes it at once.
    func close(_ desk: inout Desk) {
        do {
            try session.goAway()
            _ = try flush(&desk)
        } catch {
            return
        }
        stream.closeNotify()
    }

    /// The connection is over, one way or the other: what still waits for its answer will have none.
    func ended(_ desk: inout Desk) {
        for answer in held.takeAll() { desk.recorder.settle(answer, unanswered: UnansweredDetail.ended) }
        session.abandon()
        while let event = session.nextEvent() {
            noteUnanswered(event, &desk)
            guard case .request(let request) = event, request.stream <= lastStream else { continue }
            logUnanswered(request, UnansweredDetail.ended, &desk)
        }
        desk.recorder.flush()
    }

    /// The connection ends by a fault of the peer's.
    private func tell(_ fault: String, _ desk: inout Desk) {
        hasFailed = true
        desk.recorder.failed(
            ConnectionFailure(time: desk.now, connection: number, isHandshake: false, message: fault)
        )
    }

    // MARK: Reading

    private func read(_ desk: inout Desk) throws -> Next {
        var unanswered = 0
        for _ in 0..<Self.readsPerTurn {
            switch try stream.read(into: &desk.input) {
            case .bytes(let count):
                hasRead = true
                try session.feed(desk.input.span.bytes.extracting(0..<count))
                guard try handleEvents(&desk) else { return .closed }
                unanswered += count
                guard unanswered >= desk.window / 2 else { continue }
                // The client goes on while the other half of its window is read.
                guard try answer(&desk) == .ready(.read) else { return .ready(.write) }
                unanswered = 0
            case .wantsRead: return .ready(.read)
            case .wantsWrite: return .ready(.write)
            case .closed:
                tellCut(&desk)
                return .closed
            }
        }
        return .again
    }

    /// The client has gone. What it left incomplete is told, unless the line of a request says so.
    private func tellCut(_ desk: inout Desk) {
        guard hasRead, let unfinished, !session.hasIncompleteRequests, !session.isDraining else { return }
        tell(Stall.wordsOnEnd(unfinished), &desk)
    }

    /// False when the connection was reset on purpose.
    private func handleEvents(_ desk: inout Desk) throws -> Bool {
        while let event = session.nextEvent() {
            noteUnanswered(event, &desk)
            guard case .request(let request) = event, request.stream <= lastStream else { continue }
            state.requestReceived()
            if state.requests == desk.resetAfter {
                try take(request, &desk, instead: .connectionReset)
                desk.recorder.countRare { $0.resets += 1 }
                desk.recorder.flush()
                stream.resetWhenClosed()
                return false
            }
            try take(request, &desk)
            if state.requests == desk.goAwayAfter {
                lastStream = highestStream
                desk.recorder.countRare { $0.goAways += 1 }
                try session.goAway(last: lastStream, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
            }
        }
        return true
    }

    /// - Parameter instead: What becomes of it, whatever it deserves.
    private func take(_ request: Request, _ desk: inout Desk, instead: Answer? = nil) throws {
        highestStream = max(highestStream, request.stream)
        let instead = instead ?? (request.isGone ? .clientGone : nil)
        let judged = session.withRequest(request) { bytes, fields in
            judge(request, Span<UInt8>(_bytes: bytes), fields, &desk, instead: instead)
        }
        if !isTrusted, state.isTrusted {
            isTrusted = true
            if desk.maximumStreams == nil {
                try session.allow(maxConcurrentStreams: desk.streams(isTrusted: true))
            }
        }
        let answer = judged.answer
        // Taken, so that the next one has its own.
        let delivery = judgedDelivery.take()
        guard answer.status != nil else {
            if answer.resetsStream { try session.reset(request.stream, .internalError) }
            return
        }
        let body = judged.isHead ? [] : answer.body(now: desk.now)
        if desk.delay > .zero {
            held.hold(
                HeldAnswers.Held(
                    due: MonotonicInstant.now + desk.delay,
                    stream: request.stream,
                    block: desk.block,
                    body: body,
                    verdict: judged.verdict,
                    request: judgedRequest.take(),
                    delivery: delivery
                )
            )
        } else {
            try respond(to: request.stream, desk.block, body)
            if let delivery { answered.append(delivery) }
        }
    }

    /// Judges one request and records it; leaves the fields of its answer in `desk.block`.
    private func judge(
        _ request: Request,
        _ bytes: Span<UInt8>,
        _ fields: Span<Field>,
        _ desk: inout Desk,
        instead: Answer?
    ) -> Judged {
        let head = RequestHead(fields, in: bytes)
        let payload = bytes.extracting(request.body.bounds)
        let seconds = Double(desk.now) / 1000
        let verdict: Verdict
        if request.hasTooManyFields {
            verdict = .refused(.headerListTooLarge)
        } else {
            verdict = desk.judge.verdict(on: head, in: bytes, payload: payload, from: &state, now: seconds)
        }
        var judged = Judged(verdict: verdict, answer: instead ?? desk.answers[verdict])
        let answer = judged.answer
        let isHeld = answer.status != nil && desk.delay > .zero
        if isHeld {
            desk.recorder.countHeld(payload: request.bodyCount)
        } else {
            desk.recorder.count(instead == nil ? verdict : nil, payload: request.bodyCount)
        }

        // The memory is the desk's, taken for a while so that it is not in the desk's way.
        var id = exchange(&desk.id, with: [])
        defer { desk.id = id }
        id.removeAll(keepingCapacity: true)
        let given = bytes.extracting(head.id.range)
        if head.id.isPresent, HeaderForm.isCanonicalUUID(given) {
            id.append(given)
        } else {
            desk.ids.append(to: &id)
        }
        if desk.recorder.keeps(head, in: bytes) {
            let culprit = instead == nil ? verdict.culprit(of: head, in: bytes, payload, state.credential) : nil
            let facts = facts(of: request, desk.now, answer.status, answer.reason, culprit ?? answer.detail)
            if isHeld {
                judgedRequest = HeldRequest(
                    facts: facts,
                    head: head,
                    bytes: bytes.array,
                    payload: request.body.bounds,
                    id: id
                )
            } else {
                desk.recorder.log(facts, head, in: bytes, id: id.span, payload: payload)
            }
            judgedDelivery = desk.recorder.keepDelivery(facts, head, in: bytes, id: id.span, payload: payload)
        }
        if let deadTokens = desk.deadTokens, let seconds = answer.death(now: desk.now) {
            let token = HeaderForm.bytes(of: bytes.extracting(RequestCheck.token(of: head, in: bytes)))
            let topic = head.topic.isPresent ? bytes.extracting(head.topic.range).array : state.credential.onlyTopic
            if let token { deadTokens.add(token, seconds: seconds, topic: topic) }
        }
        guard let status = answer.status else { return judged }
        if status != 200 { judged.isHead = bytes.extracting(head.method.range).equals("HEAD") }
        desk.block.reset(status: status)
        desk.block.append("apns-id", id.span.bytes, indexing: .never)
        if desk.isSandbox {
            id.removeAll(keepingCapacity: true)
            desk.ids.append(to: &id)
            desk.block.append("apns-unique-id", id.span.bytes, indexing: .never)
        }
        let retryAfter = answer.retryAfter
        if !retryAfter.isEmpty { desk.block.append("retry-after", retryAfter.span.bytes) }
        return judged
    }

    private func facts(
        of request: Request,
        _ now: Int64,
        _ status: UInt16?,
        _ reason: String?,
        _ detail: String?
    ) -> LogLine.Facts {
        var facts = LogLine.Facts(
            now: now,
            connection: number,
            stream: request.stream,
            status: status,
            reason: reason,
            detail: detail
        )
        facts.onlyTopic = state.credential.onlyTopic
        if request.isBodyTooLarge, let digest = session.bodyReader(of: request) as? RunningDigest {
            facts.longBody = LogLine.LongBody(count: request.bodyCount, digest: digest.finish())
        }
        return facts
    }

    /// Writes the line of a request that did not come in full: nobody was asked what to answer.
    private func noteUnanswered(_ event: ServerEvent, _ desk: inout Desk) {
        switch event {
        case .refused(let request, let code):
            desk.recorder.countRare { $0.streamsRefused += 1 }
            let isFirst = !isTrusted && desk.maximumStreams == nil
            let detail = UnansweredDetail.reset(code, session.fault(of: request), isFirst: isFirst)
            logUnanswered(request, detail, &desk)
        case .abandoned(let request, let code) where request.stream <= lastStream:
            logUnanswered(request, UnansweredDetail.abandoned(code), &desk)
        default: break
        }
    }

    private func logUnanswered(_ request: Request, _ detail: String, _ desk: inout Desk) {
        session.withRequest(request) { bytes, fields in
            let bytes = Span<UInt8>(_bytes: bytes)
            let head = RequestHead(fields, in: bytes)
            guard desk.recorder.keeps(head, in: bytes) else { return }
            let facts = facts(of: request, desk.now, nil, nil, detail)
            let payload = bytes.extracting(request.body.bounds)
            desk.recorder.log(facts, head, in: bytes, id: bytes.extracting(head.id.range), payload: payload)
        }
    }

    // MARK: Writing

    private func answerHeld(_ desk: inout Desk) throws {
        guard held.nextDue != nil else { return }
        let now = MonotonicInstant.now
        while let answer = held.next(at: now) {
            let isThere = try respond(to: answer.stream, answer.block, answer.body)
            desk.recorder.settle(answer, unanswered: isThere ? nil : Answer.clientGone.detail)
            if isThere, let delivery = answer.delivery { answered.append(delivery) }
        }
    }

    /// Answers a request. False if its stream is gone by now: then there is nobody to tell.
    @discardableResult
    private func respond(to stream: Int32, _ block: borrowing HeaderBlock, _ body: [UInt8]) throws -> Bool {
        do throws(HTTP2Error) {
            try session.respond(to: stream, block, body: body.span.bytes)
            return true
        } catch  where error.code == .unknownStream {
            return false
        }
    }

    /// Writes the log and then the answers, as far as the socket takes them.
    private func answer(_ desk: inout Desk) throws -> Next {
        desk.recorder.flush()
        let writing = try flush(&desk)
        if writing == .ready(.read) { tellAnswered(desk) }
        return writing
    }

    private func tellAnswered(_ desk: borrowing Desk) {
        for delivery in answered { desk.recorder.answered(delivery) }
        answered.removeAll(keepingCapacity: true)
    }

    /// Writes what there is to write; ready to read when all of it went out.
    private func flush(_ desk: inout Desk) throws -> Next {
        while true {
            if outbox.isEmpty {
                try outbox.fill(from: session)
                if session.hasEvents { recordRefused(&desk) }
                if outbox.isEmpty { return .ready(.read) }
            }
            switch try outbox.write(to: &stream) {
            case .bytes: continue
            case .wantsWrite: return .ready(.write)
            case .wantsRead: return .ready(.read)
            }
        }
    }

    /// The session resets streams as it writes: their requests have a line in the log before that goes out.
    private func recordRefused(_ desk: inout Desk) {
        while let event = session.nextEvent() { noteUnanswered(event, &desk) }
        desk.recorder.flush()
    }
}
