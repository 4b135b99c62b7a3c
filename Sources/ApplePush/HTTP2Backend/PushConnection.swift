import HTTP2
import IO
import TLS

/// One connection to the gateway: TLS below, HTTP/2 in the middle, pushes on top. Synchronous and confined to its
/// pool's loop: the pool calls it when the socket is ready, when there are pushes and when time has passed, and looks
/// at what became of it afterwards.
final class PushConnection {
    /// A record of TLS holds 16 KB; so much is gathered before each write, and the rest left for the last frame.
    private static let gathered = 15_872
    /// After so many pushes their bytes are drained: header and body stay together, which is less work for both sides
    /// than a thousand headers and then a thousand bodies.
    private static let drained = 32

    let id: Int
    private(set) var authorization: Authorization?
    private(set) var life: ConnectionLife
    /// The provider token that an answer called too old.
    private(set) var refusedToken: ProviderToken?

    private var stream: TLSStream?
    private let session: ClientSession
    private let deliveries: DeliveryQueue
    private var inFlight = InFlightTable()
    private var answerTimes = DurationHistogram()
    private var hasAnswerTimes = false
    /// What the session calls the pushes in flight, by tag.
    private var submissions: [Submission] = []
    private var outgoing: Outgoing
    private var output: [UInt8] = []
    private var outputSent = 0
    private var bytesSent: UInt64 = 0
    /// Writing failed; what can still be read may say why.
    private(set) var writeFailure: ConnectionLife.End?
    private var isRefusedByKernel = false
    private var isWatchedForRoom = false
    /// An answer showed that the gateway accepts the provider token; with a certificate it has by its handshake.
    private var isAccepted: Bool

    init(
        _ id: Int,
        _ stream: consuming TLSStream,
        authority: String,
        certified: Bool,
        authorization: Authorization?,
        deliveries: DeliveryQueue,
        limits: ConnectionLife.Limits,
        at now: MonotonicInstant
    ) throws(HTTP2Error) {
        self.id = id
        self.stream = consume stream
        self.session = try ClientSession()
        self.deliveries = deliveries
        self.authorization = authorization
        self.isAccepted = certified
        self.outgoing = Outgoing(authority: authority, token: authorization?.token)
        self.life = ConnectionLife(limits, at: now)
        self.life.connected(at: now)
    }

    /// The pushes to come carry this provider token.
    func authorize(_ authorization: Authorization) {
        if self.refusedToken != nil { return }
        self.authorization = authorization
        self.outgoing.use(authorization.token)
    }

    /// How many pushes are in flight.
    var inFlightCount: Int { self.inFlight.count }

    /// How many pushes it takes now.
    var free: Int {
        self.life.isReady ? max(0, min(self.session.freeStreams, self.allowance - self.inFlight.count)) : 0
    }

    /// It takes as many pushes as the gateway allows for.
    var isProven: Bool { self.allowance >= self.session.openStreams + self.session.freeStreams }

    /// How many pushes may be in flight: one until the provider token is accepted; then few, and one more with each
    /// answer, so that a gateway that soon says goodbye has little to send back.
    private var allowance: Int { self.isAccepted ? 64 + self.life.answered : 1 }

    // MARK: Pushes

    /// Takes as many of the waiting pushes as that; they are sent by the next `flush`.
    func submit(_ count: Int, at now: MonotonicInstant) {
        for number in 0..<count {
            guard let push = self.deliveries.next() else { return }
            if number % Self.drained == Self.drained - 1 { self.writeFullRecords() }
            let batch = self.deliveries[push.delivery]
            let tag = self.inFlight.insert(push, at: now)
            do {
                let submission = try self.outgoing.submit(Int(push.position), of: batch, tag: tag, to: self.session)
                if Int(tag) < self.submissions.count {
                    self.submissions[Int(tag)] = submission
                } else {
                    self.submissions.append(submission)
                }
            } catch {
                _ = self.inFlight.remove(tag)
                // A field that cannot be sent is the message's fault; everything else is this connection's.
                if error.code == .invalidField {
                    self.deliveries.end(push, OutcomeRules.outcome(of: .unsendable))
                } else {
                    self.deliveries.takeBack(push)
                    return self.life.retire(.failed(error.message))
                }
            }
        }
    }

    /// There is something to write that nobody refused to take.
    var wantsToWrite: Bool { !self.isRefusedByKernel && (!self.output.isEmpty || self.session.wantsToWrite) }

    /// Writes what there is to write, until there is no more or the kernel has no room.
    func flush(at now: MonotonicInstant) {
        if self.life.isClosed || self.writeFailure != nil { return }
        do {
            if self.inFlight.count > 0, self.life.willSend(at: now) == .ping { try self.session.ping(1) }
            try self.write(isLast: true)
        } catch {
            self.writeFailure = ConnectionLife.End(error)
        }
        self.readEvents()
        if self.session.isFinished { self.end(.closedByPeer) }
    }

    /// Writes what fills records, and leaves the rest to be filled up.
    private func writeFullRecords() {
        if self.isRefusedByKernel || self.writeFailure != nil { return }
        do {
            try self.write(isLast: false)
        } catch {
            self.writeFailure = ConnectionLife.End(error)
        }
    }

    private func write(isLast: Bool) throws {
        self.isRefusedByKernel = false
        while true {
            // What was written in part is written on first.
            if self.outputSent == 0 { try self.session.drain(into: &self.output, limit: Self.gathered) }
            if self.output.isEmpty || (!isLast && self.outputSent == 0 && self.output.count < Self.gathered) { return }
            switch try self.writeOnce() {
            case .bytes(let count):
                self.outputSent += count
                self.bytesSent += UInt64(count)
                guard self.outputSent == self.output.count else { continue }
                self.output.removeAll(keepingCapacity: true)
                self.outputSent = 0
            case .wantsWrite:
                self.isRefusedByKernel = true
                return
            case .wantsRead, nil: return
            }
        }
    }

    private func writeOnce() throws(TLSError) -> WriteResult? {
        let output = self.output
        // A span of an array that stays alive and unchanged through the call.
        return try unsafe self.stream?.write(output.span.bytes.extracting(self.outputSent...))
    }

    /// The kernel has room again.
    func hasRoom() { self.isRefusedByKernel = false }

    // MARK: The socket

    var descriptor: CInt? { self.stream?.descriptor }

    /// The descriptor is watched for room to write only while the kernel has none.
    func updateInterest(of watch: WatchToken, on loop: EventLoop) {
        guard self.isRefusedByKernel != self.isWatchedForRoom else { return }
        self.isWatchedForRoom = self.isRefusedByKernel
        loop.update(watch, to: self.isWatchedForRoom ? [.read, .write] : .read)
    }

    /// Reads what has come; `buffer` is room to read into. Bounded, so that a peer who never stops leaves others their
    /// turn: true if there may be more, which the descriptor will not tell.
    func read(into buffer: inout [UInt8], at now: MonotonicInstant) -> Bool {
        do {
            for _ in 0..<16 {
                switch try self.stream?.read(into: &buffer) {
                case .bytes(let count):
                    self.life.heard(at: now)
                    // A span of an array that stays alive and unchanged through the call.
                    try unsafe self.session.feed(buffer.span.bytes.extracting(0..<count))
                    self.readEvents()
                    if self.session.isFinished { self.end(.closedByPeer) }
                case .closed: self.end(.closedByPeer)
                case .wantsRead, .wantsWrite, nil: return false
                }
            }
        } catch {
            self.end(ConnectionLife.End(error))
        }
        return !self.life.isClosed
    }

    // MARK: What happened

    /// Hands over how long the answers took that have come since the last time.
    func report(to meter: TrafficMeter) {
        guard self.hasAnswerTimes else { return }
        meter.answered(after: self.answerTimes)
        self.answerTimes.removeAll()
        self.hasAnswerTimes = false
    }

    private func readEvents() {
        while let event = self.session.nextEvent() {
            switch event {
            case .settingsChanged: self.life.settled()
            case .answered(let tag, let answer):
                let submitted = self.inFlight.submitted(tag)
                self.answerTimes.add(nanoseconds: self.life.lastHeard.nanoseconds - submitted.nanoseconds)
                self.hasAnswerTimes = true
                self.answered(self.inFlight.remove(tag), answer)
            case .ended(let tag, let ending): self.ended(self.inFlight.remove(tag), ending)
            case .goAway:
                let debugData = self.session.goAwayDebugData
                // A span of an array that stays alive and unchanged through the call.
                let reply = unsafe Reply(debugData.span.bytes)
                let reason = reply.reason.map { String(decoding: debugData[$0].prefix(100), as: UTF8.self) }
                self.life.retire(.goneAway(reason: reason))
            case .settingsAcknowledged, .pong: break
            }
        }
    }

    private func answered(_ push: InFlightTable.Push, _ answer: Answer) {
        // Nearly every answer is this one, and it says nothing more.
        if answer.status == 200 {
            self.isAccepted = true
            self.life.wasAnswered(isOfUse: true)
            return self.deliveries.end(push, .delivered)
        }
        let outcome = self.session.withBody(of: answer) { body in
            self.deliveries.outcome(for: push) { outcomes in
                OutcomeRules.outcome(
                    status: answer.status,
                    retryAfter: answer.retryAfter,
                    body: body,
                    keeping: &outcomes
                )
            }
        }
        if self.follow(outcome) {
            self.deliveries.takeBack(push)
        } else {
            self.deliveries.end(push, outcome)
        }
    }

    /// Does what a rejection asks of the connection. True if the push is to be sent again right away.
    private func follow(_ outcome: Outcome) -> Bool {
        switch outcome.action {
        case .renewProviderToken:
            self.life.wasAnswered(isOfUse: true)
            guard let authorization = self.authorization else { return false }
            self.refusedToken = authorization.token
            self.life.retire(.usedUp)
            return !authorization.isRenewed
        case .keepProviderToken, .pauseCredential:
            self.life.wasAnswered(isOfUse: false)
            self.life.retire(.refused(outcome.reason.name ?? "status \(outcome.status)"))
        case .replaceConnection:
            self.life.wasAnswered(isOfUse: false)
            self.life.retire(.usedUp)
        default:
            self.isAccepted = true
            self.life.wasAnswered(isOfUse: true)
        }
        return false
    }

    private func ended(_ push: InFlightTable.Push, _ ending: HTTP2.Ending) {
        let outcome = OutcomeRules.outcome(
            of: .streamEnded(isSurelyUnprocessed: ending.isSurelyUnprocessed)
        )
        if outcome.verdict != .safe {
            self.deliveries.end(push, outcome)
        } else if self.life.isReady {
            self.deliveries.takeBack(push, orEnd: outcome)
        } else {
            self.deliveries.takeBack(push)
        }
    }

    // MARK: Time and the end

    /// Time has passed: gives up the pushes that were not answered in time, and looks after the connection.
    func passed(to now: MonotonicInstant, requestTimeout: Duration) {
        while let (tag, submitted) = self.inFlight.oldest, now - submitted >= requestTimeout {
            guard self.session.reset(self.submissions[Int(tag)]) else { return self.end(.silent) }
            self.life.wasLate()
            self.readEvents()
        }
        switch self.life.passed(to: now, inFlight: self.inFlight.count) {
        case .none: break
        case .ping: try? self.session.ping(1)
        case .close: self.end(.silent)
        }
    }

    /// Takes no more pushes; closes as soon as those in flight have ended.
    func retire(_ end: ConnectionLife.End) { self.life.retire(end) }

    /// Ends every push in flight and closes. The first reason is the one that stays.
    func end(_ end: ConnectionLife.End) {
        guard let stream = self.stream.take() else { return }
        self.life.close(end)
        self.sayGoodbye(on: stream)
        self.session.sweep(bytesWritten: self.bytesSent)
        self.readEvents()
    }

    /// Tells the peer that we go, as far as the socket takes it.
    private func sayGoodbye(on stream: consuming TLSStream) {
        guard !self.isRefusedByKernel, self.output.isEmpty, !self.session.isFinished else { return }
        guard (try? self.session.goAway()) != nil, (try? self.session.drain(into: &self.output)) != nil else { return }
        let output = self.output
        // A span of an array that stays alive and unchanged through the call.
        _ = unsafe try? stream.write(output.span.bytes)
        stream.closeNotify()
    }
}

extension ConnectionLife.End {
    fileprivate init(_ error: any Error) {
        self = (error as? TLSError)?.code == .rejected ? .refused("\(error)") : .failed("\(error)")
    }
}
