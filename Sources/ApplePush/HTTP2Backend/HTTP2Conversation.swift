import CarillonHTTP2
import CarillonIO

/// The HTTP/2 conversation: turns pushes into requests, and answers into outcomes. What is in flight at its end ends with it.
final class HTTP2Conversation: Conversation {
    private static let late = PushError(.timedOut, "The push was sent, and the gateway did not answer it in time.")

    private(set) var life: ConnectionLife
    private var deadlines: HTTP2Deadlines
    private var authorization: Authorization?
    private(set) var refusedToken: ProviderToken?

    private let session: ClientSession
    private let deliveries: DeliveryQueue
    private let configuration: HTTP2Configuration
    private var budget: FrameBudget
    private var requests: HTTP2Requests
    private var inFlightAllowance: InFlightAllowance
    private var answers = AnswerTally()
    /// Whether the kernel accepts no more bytes, so that waiting bytes are not waiting for a window.
    private var isStalled = false
    /// How many pushes were in flight when the send window last prevented more from being sent.
    private var windowCapacity: Int?

    init(
        authority: String,
        _ configuration: HTTP2Configuration,
        _ terms: ConversationTerms,
        sending deliveries: DeliveryQueue,
        maximumAge: Duration,
        at now: MonotonicInstant
    ) throws(HTTP2Error) {
        var settings = ClientSettings()
        settings.keptFields = ["apns-unique-id"]
        session = try ClientSession(settings)
        self.deliveries = deliveries
        self.configuration = configuration
        authorization = terms.authorization
        requests = HTTP2Requests(on: session, Outgoing(authority: authority, token: terms.authorization?.token))
        inFlightAllowance = InFlightAllowance(terms)
        life = ConnectionLife(writeTimeout: configuration.writeTimeout, maximumAge: maximumAge)
        deadlines = HTTP2Deadlines(configuration, at: now)
        budget = FrameBudget(at: now)
    }

    func authorize(_ authorization: Authorization) {
        if refusedToken != nil { return }
        self.authorization = authorization
        requests.use(authorization.token)
    }

    // MARK: Room

    var room: ConnectionStatus.Room {
        ConnectionStatus.Room(
            free: free,
            inFlight: requests.inFlight.count,
            capacity: life.isReady ? min(session.maxStreams, windowCapacity ?? .max) : 0
        )
    }

    /// How many pushes it can take now, judged by streams; 0 if the window has no room for the next body.
    private var free: Int {
        guard life.isReady else { return 0 }
        let free = min(session.freeStreams, allowance - requests.inFlight.count)
        guard free > 0, hasWindow else { return 0 }
        return free
    }

    /// Whether the window has room for the next push.
    private var hasWindow: Bool { requests.bodyRoom.count(of: deliveries.nextSize ?? 0) > 0 }

    /// Records whether the window prevents more pushes from being sent.
    private func measureWindow() {
        let count = requests.inFlight.count
        if count > 0, count < allowance, !hasWindow {
            windowCapacity = count
        } else if let capacity = windowCapacity, count > capacity {
            windowCapacity = nil
        }
    }

    var isAccepted: Bool { inFlightAllowance.isAccepted }

    var isProven: Bool { isAccepted && (allowance >= session.maxStreams || windowCapacity != nil) }

    /// How many pushes may be in flight: one while a ping is unanswered.
    private var allowance: Int {
        if deadlines.isInDoubt { return 1 }
        return inFlightAllowance.count(
            answered: life.answered,
            inFlight: requests.inFlight.count,
            opened: requests.opened
        )
    }

    var due: MonotonicInstant {
        let due = min(life.due, deadlines.due(life, inFlight: requests.inFlight.count))
        return min(due, requests.due(after: configuration.requestTimeout))
    }

    // MARK: What is sent

    func connected(at now: MonotonicInstant) {
        life.connected(at: now)
        deadlines.connected(at: now)
    }

    func submit(_ count: Int, at now: MonotonicInstant) -> Bool {
        if deadlines.willSend(at: now) { ping() }
        let free = self.free
        defer { deadlines.opened(requests.lastStream, &life) }
        var left = min(count, free)
        while left > 0 {
            guard let run = deliveries.next(left, in: requests.bodyRoom) else { return false }
            guard submit(run, at: now) else { return false }
            left -= run.positions.count
        }
        return count < free
    }

    /// Returns false if the connection takes no more. The rest of the run is then sent elsewhere.
    private func submit(_ run: DeliveryQueue.Run, at now: MonotonicInstant) -> Bool {
        for position in run.positions where !submit(position, of: run, at: now) {
            for left in position + 1..<run.positions.upperBound { deliveries.takeBack(run.push(at: left)) }
            return false
        }
        return true
    }

    /// Returns false if the connection takes no more.
    private func submit(_ position: Int, of run: DeliveryQueue.Run, at now: MonotonicInstant) -> Bool {
        do {
            try requests.submit(position, of: run, at: now)
            return true
        } catch {
            let push = run.push(at: position)
            // A field that cannot be sent is a fault of the message; anything else is a fault of the connection.
            if error.code == .invalidField {
                deliveries.end(push, OutcomeRules.outcome(of: .unsendable))
                return true
            }
            deliveries.takeBack(push)
            life.retire(ConnectionEnd(error))
            return false
        }
    }

    var wantsToWrite: Bool { session.wantsToWrite }

    func drain(into output: inout [UInt8], limit: Int) throws(ConnectionEnd) {
        do {
            try session.drain(into: &output, limit: limit)
        } catch {
            throw ConnectionEnd(error)
        }
    }

    func sent(_ count: Int) { requests.sent(count) }

    func wrote(isStalled: Bool, at now: MonotonicInstant) {
        life.wrote(isStalled: isStalled, at: now)
        session.flushEnded()
        readEvents(at: now)
        self.isStalled = isStalled
        checkSession(at: now)
    }

    private func ping() {
        // If there is no memory for a ping, the time limits of pushes are enough.
        try? session.ping()
    }

    // MARK: What is received

    func received(_ bytes: RawSpan, at now: MonotonicInstant) {
        deadlines.heard(at: now)
        do {
            try session.feed(bytes)
        } catch {
            readEvents(at: now)
            return life.close(ConnectionEnd(error))
        }
        readEvents(at: now)
        if !budget.allows(requests.counts, at: now) { return life.close(.flooded("many frames and few answers")) }
        checkSession(at: now)
    }

    private func checkSession(at now: MonotonicInstant) {
        if session.isFinished {
            life.close(session.failure.map { ConnectionEnd($0) } ?? .closedByPeer)
        } else if life.isReady {
            deadlines.offered(session.maxStreams, at: now)
            let isHeldBack = session.sendWindow <= 0 || (session.unwrittenRequests > 0 && !isStalled)
            deadlines.held(back: isHeldBack, after: session.bodyBytesDrained, at: now)
            measureWindow()
        }
    }

    // MARK: What is answered

    private func readEvents(at now: MonotonicInstant) {
        var hasAnswer = false
        while let event = session.nextEvent() {
            switch event {
            case .settingsChanged:
                deadlines.settled()
                life.opened()
            case .settingsAcknowledged: deadlines.acknowledged()
            case .written(let tag): requests.restart(tag, at: now)
            case .begun(let submission): requests.begun(submission, at: now)
            case .answered(let tag, let answer):
                let written = requests.inFlight.since(tag)
                guard let push = requests.ended(tag) else { break }
                hasAnswer = true
                answers.answered(after: deadlines.lastHeard.nanoseconds - written.nanoseconds)
                answered(push, answer, at: now)
            case .ended(let tag, let ending):
                guard let push = requests.ended(tag) else { break }
                if ended(push, ending) { hasAnswer = true }
            case .goAway(let code): goneAway(code)
            }
        }
        if hasAnswer { deliveries.answered(at: now) }
    }

    private func answered(_ push: QueuedPush, _ answer: HTTP2Response, at now: MonotonicInstant) {
        if answer.hasField(0) { identify(push, by: answer) }
        // Nearly all answers take this path: what `OutcomeRules` says of a 200, without a look for a body.
        if answer.status == 200 { return accepted(push) }
        let outcome = session.withBody(of: answer) { body in
            deliveries.outcome(for: push) { outcomes in
                OutcomeRules.outcome(
                    status: answer.status,
                    retryAfter: answer.retryAfter,
                    body: body,
                    keeping: &outcomes
                )
            }
        }
        if follow(outcome, at: now) {
            deliveries.takeBack(push)
        } else {
            deliveries.end(push, outcome)
        }
    }

    private func accepted(_ push: QueuedPush) {
        inFlightAllowance.isAccepted = true
        life.wasAnswered(isOfUse: true)
        deliveries.end(push, .accepted)
    }

    /// The sandbox sends `apns-unique-id` with each answer. Apple's page on broadcasts does not limit it to the sandbox.
    private func identify(_ push: QueuedPush, by answer: HTTP2Response) {
        let id = session.withField(0, of: answer) { value in
            PushID(String(decoding: value.byteOffsets.map { value[byte: $0] }, as: UTF8.self))
        }
        if let id { deliveries.identified(push, as: id) }
    }

    /// Acts on what a rejection means for the connection. Returns true if the push is to be sent again at once.
    private func follow(_ outcome: Outcome, at now: MonotonicInstant) -> Bool {
        switch outcome.action {
        case .failTopic where isBoundEarlier(at: now),
            .failToken where outcome.reason.isAboutTopic && isBoundEarlier(at: now):
            inFlightAllowance.isAccepted = true
            life.wasAnswered(isOfUse: true)
            life.retire(.usedUp)
            return true
        case .renewProviderToken:
            life.wasAnswered(isOfUse: true)
            return renewToken()
        case .keepProviderToken, .holdCredential:
            life.wasAnswered(isOfUse: false)
            life.retire(.refused(outcome.reason.name ?? "status \(outcome.status)"))
        case .replaceConnection:
            life.wasAnswered(isOfUse: false)
            life.retire(.usedUp)
        default:
            inFlightAllowance.isAccepted = true
            life.wasAnswered(isOfUse: true)
        }
        return false
    }

    /// Whether the connection is old enough that the topics of the signing key may have changed since its first push.
    private func isBoundEarlier(at now: MonotonicInstant) -> Bool {
        authorization != nil && life.age(at: now) > configuration.topicBindingAge
    }

    /// The provider token is too old, and the next one needs another connection. Returns false if this token had already been
    /// renewed.
    private func renewToken() -> Bool {
        life.retire(.usedUp)
        guard let authorization = self.authorization else { return false }
        refusedToken = authorization.token
        return !authorization.isRenewed
    }

    /// Returns whether the push was answered all the same.
    private func ended(_ push: QueuedPush, _ ending: StreamEnding) -> Bool {
        let outcome = OutcomeRules.outcome(
            of: .streamEnded(status: ending.status, isSurelyUnprocessed: ending.isSurelyUnprocessed)
        )
        switch outcome.verdict {
        case .accepted: accepted(push)
        case .safe: deliveries.takeBack(push, isRefused: life.isReady)
        default: deliveries.endUnanswered(push, because: whyUnanswered(ending))
        }
        return outcome.verdict == .accepted
    }

    private func whyUnanswered(_ ending: StreamEnding) -> PushError {
        switch ending.origin {
        case .reset: Self.late
        case .closed:
            session.failure.map { ConnectionEnd($0).unanswered }
                ?? PushError(.unreachable, "The gateway ended the request without an answer: \(ending.errorCode).")
        case .sessionEnded: (life.end ?? .closedByPeer).unanswered
        }
    }

    /// The gateway accepts no more streams, perhaps because of the credential.
    private func goneAway(_ code: ErrorCode) {
        let debugData = session.goAwayDebugData
        // Safe: the array stays alive and unchanged during the call.
        let (reason, text) = unsafe AnswerBody.reason(in: debugData.span.bytes)
        switch reason.isKnown ? reason.action(status: 0) : nil {
        case .holdCredential, .keepProviderToken: life.retire(.refused(text))
        case .renewProviderToken: _ = renewToken()
        default:
            let word = code == .noError ? nil : code.description
            life.retire(.goneAway(reason: text.isEmpty ? word : text))
        }
    }

    // MARK: Time and the end

    func passed(to now: MonotonicInstant) {
        // The gateway has accepted these pushes. Only the ends of their streams are missing.
        requests.resetUnfinished(at: now)
        readEvents(at: now)
        while let (tag, since) = requests.inFlight.oldest, now - since >= configuration.requestTimeout {
            wasLate(tag, at: now)
            readEvents(at: now)
        }
        checkSession(at: now)
        let wasReady = life.isReady
        life.passed(to: now)
        if deadlines.passed(to: now, &life, inFlight: requests.inFlight.count) { ping() }
        guard wasReady, life.end == .windowClosed else { return }
        // Requests waiting for the window are sent elsewhere; those written in full may still be answered.
        requests.resetUnwritten()
        readEvents(at: now)
    }

    /// A push was not answered in time. If its request was not written in full, that is not the gateway's fault: the push gets more
    /// time if some of its bytes were sent since the last check, and is sent elsewhere if not.
    private func wasLate(_ tag: UInt32, at now: MonotonicInstant) {
        if requests.isWritten(tag) {
            // The end of an answer may be missing, but not the answer.
            if !requests.hasStatus(tag) {
                answers.wasLate()
                life.wasLate()
            }
        } else if requests.hasMoved(tag) {
            return requests.restart(tag, at: now)
        }
        if !requests.reset(tag) { forget(tag) }
    }

    func retire(_ end: ConnectionEnd) { life.retire(end) }

    func end(_ end: ConnectionEnd) -> [UInt8] {
        life.close(end)
        let farewell = requests.end(life.end?.errorCode ?? .noError)
        readEvents(at: deadlines.lastHeard)
        while let (tag, _) = requests.inFlight.oldest { forget(tag) }
        return farewell
    }

    /// Ends a push that the session no longer knows.
    private func forget(_ tag: UInt32) {
        guard let push = requests.remove(tag) else { return }
        deliveries.endUnanswered(push, because: life.end?.unanswered ?? Self.late)
    }

    func addAnswers(to meter: TrafficMeter) { meter.take(&answers) }
}
