import CarillonHTTP2
import CarillonIO
import CarillonTLS
import CarillonText

/// One connection after its handshake: reads bytes, judges requests, writes answers. Confined to the server's loop.
final class SimulatorConnection {
    /// What the connection is waiting for.
    enum Next: Equatable {
        case ready(Interest)
        /// There may already be more to read: serve other connections first.
        case again
        case closed
    }

    /// The result of ``judge(_:_:_:_:instead:)`` for each request. Values that only some tests need are stored separately.
    private struct Judged {
        let judgement: Judgement
        let answer: GatewayAnswer
        /// An answer to HEAD has no body.
        var isHead = false
    }

    private static let maxReads = 16

    let number: Int
    private var stream: TLSStream
    private let session: ServerSession
    private var state: AuthenticationState
    private var isTrusted: Bool
    private var delayed = Fifo<DelayedAnswer>()
    private var outbox = Outbox()
    /// For the last judged request: the request to pass to the observer once it is answered, and the copy to keep with a delayed
    /// answer.
    private var lastReceived: ReceivedRequest?
    private var judgedRequest: DelayedAnswer.Copy?
    /// The requests to pass to the observer once all output is written.
    private var answered: [ReceivedRequest] = []
    private var highestStream: Int32 = 0
    /// Set by GOAWAY: requests on higher streams are ignored.
    private var lastStream = Int32.max
    private var hasRead = false
    /// Whether the client broke a rule, so that the connection ends.
    private(set) var hasFailed = false

    init(
        number: Int,
        stream: consuming TLSStream,
        _ state: AuthenticationState,
        server: borrowing ServerState
    ) throws(HTTP2Error) {
        self.number = number
        self.stream = stream
        self.state = state
        isTrusted = state.isTrusted
        var settings = ServerSettings()
        settings.maxConcurrentStreams = server.streams(isTrusted: isTrusted)
        settings.connectionWindow = Int32(server.configuration.window)
        settings.initialWindow = UInt32(server.configuration.window)
        settings.bodyLimit = 16_384  // More than any push may have, so that the log can show what was wrong.
        if server.recorder.logs { settings.longBodyReader = { Digest() } }
        session = try ServerSession(settings)
    }

    var descriptor: CInt { stream.descriptor }

    var nextDue: MonotonicInstant? { delayed.first?.due }

    /// The frame or header block that the client has not completed: see ``ServerSession/unfinished``.
    var unfinished: Int? { session.unfinished }

    /// Reads, judges and answers. The log is written before the answers, so that a client that has its answer finds its line in the
    /// log.
    func serve(_ server: inout ServerState) -> Next {
        server.readClock()
        do {
            let mayRead = try flush(&server) == .ready(.read)
            let reading = mayRead ? try read(&server) : .ready(.write)
            if reading == .closed { return .closed }
            try answerHeld(&server)
            let writing = try answer(&server)
            if session.isFinished, session.failure != nil || nextDue == nil {
                if let failure = session.failure { fail(failure.message, &server) }
                stream.closeNotify()
                return .closed
            }
            return writing == .ready(.read) ? reading : writing
        } catch {
            if let failure = error as? HTTP2Error { fail(failure.message, &server) } else { failIfCut(&server) }
            server.recorder.flush()
            // The session has queued a GOAWAY with the cause.
            _ = try? flush(&server)
            stream.closeNotify()
            return .closed
        }
    }

    /// The client has left something incomplete for too long.
    func stalled(_ server: inout ServerState) {
        server.readClock()
        fail(Stall.message(unfinished), &server)
        close(&server)
    }

    /// Sends GOAWAY, as far as the socket accepts it at once.
    func close(_ server: inout ServerState) {
        do {
            try session.goAway()
            _ = try flush(&server)
        } catch {
            return
        }
        stream.closeNotify()
    }

    /// The connection is over: requests without an answer will get none.
    func ended(_ server: inout ServerState) {
        while let answer = delayed.popFirst() { server.recorder.settle(answer, unanswered: UnansweredDetail.ended) }
        session.abandon()
        while let event = session.nextEvent() {
            recordUnanswered(event, &server)
            guard case .request(let request) = event, request.stream <= lastStream else { continue }
            logUnanswered(request, UnansweredDetail.ended, &server)
        }
        server.recorder.flush()
    }

    private func fail(_ message: String, _ server: inout ServerState) {
        hasFailed = true
        server.recorder.failed(
            ConnectionFailure(time: server.now, connection: number, isHandshake: false, message: message)
        )
    }

    /// The client has closed the connection. Anything left incomplete is a failure, unless a request's log line already reports it.
    private func failIfCut(_ server: inout ServerState) {
        guard hasRead, let unfinished, !session.hasIncompleteRequests, !session.isDraining else { return }
        fail(Stall.messageOnEnd(unfinished), &server)
    }

    // MARK: Reading

    private func read(_ server: inout ServerState) throws -> Next {
        var unanswered = 0
        for _ in 0..<Self.maxReads {
            switch try stream.read(into: &server.input) {
            case .bytes(let count):
                hasRead = true
                try session.feed(server.input.span.bytes.extracting(0..<count))
                guard try handleEvents(&server) else { return .closed }
                unanswered += count
                guard unanswered >= server.configuration.window / 2 else { continue }
                // Write now, so that the client can send while the other half of its window is read.
                guard try answer(&server) == .ready(.read) else { return .ready(.write) }
                unanswered = 0
            case .wantsRead: return .ready(.read)
            case .wantsWrite: return .ready(.write)
            case .closed:
                failIfCut(&server)
                return .closed
            }
        }
        return .again
    }

    /// Returns false if the connection was reset on purpose.
    private func handleEvents(_ server: inout ServerState) throws -> Bool {
        while let event = session.nextEvent() {
            recordUnanswered(event, &server)
            guard case .request(let request) = event, request.stream <= lastStream else { continue }
            state.requests += 1
            if state.requests == server.configuration.resetAfter {
                try take(request, &server, instead: .connectionReset)
                server.recorder.counters.rare.resets += 1
                server.recorder.flush()
                stream.resetWhenClosed()
                return false
            }
            try take(request, &server)
            if state.requests == server.configuration.goAwayAfter {
                lastStream = highestStream
                server.recorder.counters.rare.goAways += 1
                try session.goAway(last: lastStream, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
            }
        }
        return true
    }

    /// - Parameter instead: The answer that overrides the judgement.
    private func take(_ request: HTTP2Request, _ server: inout ServerState, instead: GatewayAnswer? = nil) throws {
        highestStream = max(highestStream, request.stream)
        let instead = instead ?? (request.isGone ? .clientGone : nil)
        let judged = session.withRequest(request) { bytes, fields in
            judge(request, Span<UInt8>(_bytes: bytes), fields, &server, instead: instead)
        }
        if !isTrusted, state.isTrusted {
            isTrusted = true
            if server.configuration.maximumStreams == nil {
                try session.allow(maxConcurrentStreams: server.streams(isTrusted: true))
            }
        }
        let answer = judged.answer
        // Take it, so that the next request has its own.
        let received = lastReceived.take()
        guard answer.status != nil else {
            if answer.resetsStream { try session.reset(request.stream, .internalError) }
            return
        }
        let body = judged.isHead ? [] : answer.body(now: server.now)
        guard server.configuration.delay > .zero else {
            try respond(to: request.stream, server.block, body)
            if let received { answered.append(received) }
            return
        }
        delayed.append(
            DelayedAnswer(
                due: MonotonicInstant.now + server.configuration.delay,
                stream: request.stream,
                block: server.block,
                body: body,
                judgement: judged.judgement,
                request: judgedRequest.take(),
                received: received
            )
        )
    }

    /// Judges one request and records it. The fields of its answer are then in the server's block.
    private func judge(
        _ request: HTTP2Request,
        _ bytes: Span<UInt8>,
        _ fields: Span<RequestField>,
        _ server: inout ServerState,
        instead: GatewayAnswer?
    ) -> Judged {
        let head = RequestHead(fields, in: bytes)
        let payload = bytes.extracting(request.body.range)
        let seconds = Double(server.now) / 1000
        let judgement: Judgement
        if request.hasTooManyFields {
            judgement = .refused(.headerListTooLarge)
        } else {
            judgement = server.judge.judgement(on: head, in: bytes, payload: payload, from: &state, now: seconds)
        }
        var judged = Judged(judgement: judgement, answer: instead ?? server.answer(to: judgement))
        let answer = judged.answer
        let isDelayed = answer.status != nil && server.configuration.delay > .zero
        let counted = instead == nil && !isDelayed ? judgement : nil
        server.recorder.counters.requestJudged(counted, payload: request.bodyCount)

        // Take it out of the server, so that the server can be passed on.
        var id = exchange(&server.id, with: [])
        defer { server.id = id }
        id.removeAll(keepingCapacity: true)
        let route = ChannelRoute(of: head, in: bytes, at: state.service)
        let part = route == nil ? head.id : head.requestID
        let given = bytes.extracting(part.range)
        if part.isPresent, HeaderForm.isCanonicalUUID(given) {
            id.append(given)
        } else {
            server.ids.append(to: &id)
        }
        if server.recorder.keeps(head, in: bytes) {
            let cause = instead == nil ? judgement.cause(of: head, in: bytes, payload, state.credential) : nil
            var facts = facts(of: request, server.now, answer, cause ?? answer.detail)
            facts.channelRequest = ReceivedChannelRequest(route, head, in: bytes, judgement)
            if isDelayed {
                let body = request.body.range
                judgedRequest = .init(facts: facts, head: head, bytes: bytes.array, payload: body, id: id)
            } else {
                server.recorder.log(facts, head, in: bytes, id: id.span, payload: payload)
            }
            lastReceived = server.recorder.keepRequest(facts, head, in: bytes, id: id.span, payload: payload)
        }
        if let deadTokens = server.deadTokens, let seconds = answer.death(now: server.now),
            let token = Hexadecimal.bytes(of: bytes.extracting(head.deviceToken(in: bytes))), !token.isEmpty
        {
            let topic = head.topic.isPresent ? bytes.extracting(head.topic.range).array : state.credential.onlyTopic
            deadTokens.list.withLock { $0.add(.init(token: token, topic: topic, seconds: seconds)) }
        }
        guard let status = answer.status else { return judged }
        if status != 200 { judged.isHead = bytes.extracting(head.method.range).equals("HEAD") }
        server.block.reset(status: status)
        server.block.append(route == nil ? "apns-id" : "apns-request-id", id.span.bytes, indexing: .never)
        if case .managed(let channelAnswer) = judgement, let channel = channelAnswer.channelID {
            server.block.append("apns-channel-id", channel.span.bytes, indexing: .never)
        }
        // Apple's page on broadcasts lists it for successful ones, in both environments.
        let isBroadcast = if case .broadcast = judgement { status == 200 } else { false }
        if state.service == .pushes, server.isSandbox || isBroadcast {
            id.removeAll(keepingCapacity: true)
            server.ids.append(to: &id)
            server.block.append("apns-unique-id", id.span.bytes, indexing: .never)
        }
        let retryAfter = answer.retryAfter
        if !retryAfter.isEmpty { server.block.append("retry-after", retryAfter.span.bytes) }
        return judged
    }

    // MARK: Recording

    private func facts(of request: HTTP2Request, _ now: Int64, _ answer: GatewayAnswer?, _ detail: String?)
        -> LogLine.Facts
    {
        var facts = LogLine.Facts(now: now, connection: number, stream: request.stream)
        (facts.status, facts.reason, facts.detail) = (answer?.status, answer?.reason, detail)
        facts.onlyTopic = state.credential.onlyTopic
        if request.isBodyTooLarge, let reader = session.bodyReader(of: request) {
            facts.longBody = (request.bodyCount, reader.finish())
        }
        return facts
    }

    /// Logs a request that did not arrive in full and so was not judged.
    private func recordUnanswered(_ event: ServerEvent, _ server: inout ServerState) {
        switch event {
        case .refused(let request, let code):
            server.recorder.counters.rare.streamsRefused += 1
            let isFirst = !isTrusted && server.configuration.maximumStreams == nil
            let detail = UnansweredDetail.reset(code, session.fault(of: request), isFirst: isFirst)
            logUnanswered(request, detail, &server)
        case .abandoned(let request, let code) where request.stream <= lastStream:
            logUnanswered(request, UnansweredDetail.abandoned(code), &server)
        default: break
        }
    }

    private func logUnanswered(_ request: HTTP2Request, _ detail: String, _ server: inout ServerState) {
        session.withRequest(request) { bytes, fields in
            let bytes = Span<UInt8>(_bytes: bytes)
            let head = RequestHead(fields, in: bytes)
            guard server.recorder.keeps(head, in: bytes) else { return }
            var facts = facts(of: request, server.now, nil, detail)
            let route = ChannelRoute(of: head, in: bytes, at: state.service)
            facts.channelRequest = ReceivedChannelRequest(route, head, in: bytes, nil)
            let payload = bytes.extracting(request.body.range)
            server.recorder.log(facts, head, in: bytes, id: bytes.extracting(head.id.range), payload: payload)
        }
    }

    // MARK: Writing

    private func answerHeld(_ server: inout ServerState) throws {
        guard nextDue != nil else { return }
        let now = MonotonicInstant.now
        while let due = nextDue, due <= now, let answer = delayed.popFirst() {
            let isOpen = try respond(to: answer.stream, answer.block, answer.body)
            server.recorder.settle(answer, unanswered: isOpen ? nil : GatewayAnswer.clientGone.detail)
            if isOpen, let received = answer.received { answered.append(received) }
        }
    }

    /// Answers a request. Returns false if its stream no longer exists.
    @discardableResult
    private func respond(to stream: Int32, _ block: borrowing HeaderBlock, _ body: [UInt8]) throws -> Bool {
        do throws(HTTP2Error) {
            try session.respond(to: stream, block, body: body.span.bytes)
            return true
        } catch  where error.code == .unknownStream {
            return false
        }
    }

    /// Writes the log and then the answers, as far as the socket accepts them.
    private func answer(_ server: inout ServerState) throws -> Next {
        server.recorder.flush()
        let writing = try flush(&server)
        if writing == .ready(.read) {
            for received in answered { server.recorder.answered(received) }
            answered.removeAll(keepingCapacity: true)
        }
        return writing
    }

    /// Writes the output. Returns `.ready(.read)` once all of it is written.
    private func flush(_ server: inout ServerState) throws -> Next {
        while true {
            if outbox.isEmpty {
                try outbox.fill(from: session)
                if session.hasEvents {
                    // Draining may reset streams. Log their requests before the resets are written.
                    while let event = session.nextEvent() { recordUnanswered(event, &server) }
                    server.recorder.flush()
                }
                if outbox.isEmpty { return .ready(.read) }
            }
            switch try outbox.write(to: &stream) {
            case .bytes: continue
            case .wantsWrite: return .ready(.write)
            case .wantsRead: return .ready(.read)
            }
        }
    }
}

/// The log contains the hash of bodies that are too long to be kept.
extension Digest: BodyReader {}
