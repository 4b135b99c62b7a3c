import CarillonHTTP2
import CarillonIO

/// The HTTP/2 conversation. It keeps its pushes in flight in a table, and ends those that are left there when it ends.
final class HTTP2Conversation: Conversation {
    /// How many pushes may be in flight before any has been answered.
    private static let first = 64
    /// How many pushes may always be in flight. Otherwise a push that is never answered would hold up all others.
    private static let few = 8
    /// How long the end of a 200 may take after its header. It has no body.
    private static let longestEnd = Duration.seconds(2)

    var life: ConnectionLife
    var deadlines: HTTP2Deadlines
    private(set) var authorization: Authorization?
    var refusedToken: ProviderToken?

    let session: ClientSession
    let deliveries: DeliveryQueue
    let configuration: HTTP2Configuration
    private let expectedAnswers: Int?
    private var budget: FrameBudget
    var inFlight = InFlightTable()
    /// The session's handles for the pushes in flight, by tag.
    private var submissions: [ClientSession.Submission] = []
    /// Answers with the status 200 whose end had not arrived with the header.
    var unfinished = Fifo<(submission: ClientSession.Submission, since: MonotonicInstant)>()
    private var lastStream: Int32 = 0
    private var outgoing: Outgoing
    var answers = AnswerTally()
    /// How many pushes have ended here.
    var ended = 0
    private var bytesSent: UInt64 = 0
    /// Whether the kernel accepts no more bytes, so that waiting bytes are not waiting for a window.
    private var isStalled = false
    /// How many pushes were in flight when the send window last prevented more from being sent.
    private var windowCapacity: Int?
    var isAccepted: Bool
    private let acceptanceLimit: Int

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
        expectedAnswers = terms.expectedAnswers
        authorization = terms.authorization
        isAccepted = terms.acceptanceLimit == nil
        acceptanceLimit = terms.acceptanceLimit ?? 0
        outgoing = Outgoing(authority: authority, token: terms.authorization?.token)
        life = ConnectionLife(writeTimeout: configuration.writeTimeout, maximumAge: maximumAge)
        deadlines = HTTP2Deadlines(configuration, at: now)
        budget = FrameBudget(at: now)
    }

    func authorize(_ authorization: Authorization) {
        if refusedToken != nil { return }
        self.authorization = authorization
        outgoing.use(authorization.token)
    }

    // MARK: Room

    var room: ConnectionStatus.Room {
        ConnectionStatus.Room(
            free: free,
            inFlight: inFlight.count,
            capacity: life.isReady ? min(session.maxStreams, windowCapacity ?? .max) : 0
        )
    }

    /// How many pushes it can take now, judged by streams; 0 if the window has no room for the next body.
    private var free: Int {
        guard life.isReady else { return 0 }
        let free = min(session.freeStreams, allowance - inFlight.count)
        guard free > 0, hasWindow else { return 0 }
        return free
    }

    private var bodyRoom: BodyRoom {
        BodyRoom(window: session.sendWindow, waiting: session.bodyBytesWaiting)
    }

    /// Whether the window has room for the next push.
    private var hasWindow: Bool { bodyRoom.count(of: deliveries.nextSize ?? 0) > 0 }

    /// Records whether the window prevents more pushes from being sent.
    private func measureWindow() {
        let count = inFlight.count
        if count > 0, count < allowance, !hasWindow {
            windowCapacity = count
        } else if let capacity = windowCapacity, count > capacity {
            windowCapacity = nil
        }
    }

    var isProven: Bool { isAccepted && (allowance >= session.maxStreams || windowCapacity != nil) }

    /// How many pushes may be in flight: one while a ping is unanswered, and a few until the credential is accepted. After that,
    /// each answer allows one more, so that a gateway that soon closes the connection returns few pushes. If the previous
    /// connection was lost early, this one first takes as many pushes as that one answered.
    private var allowance: Int {
        if deadlines.isInDoubt { return 1 }
        guard isAccepted else { return acceptanceLimit }
        let answered = life.answered
        guard let expected = expectedAnswers else { return Self.first + answered }
        if answered >= expected { return Self.first + answered - expected }
        let opened = Int(lastStream + 1) / 2
        return min(Self.first + answered, max(Self.few, inFlight.count + expected - opened))
    }

    var due: MonotonicInstant {
        var due = min(life.due, deadlines.due(life, inFlight: inFlight.count))
        if let since = unfinished.first?.since { due = min(due, since + Self.longestEnd) }
        return inFlight.oldest.map { min(due, $0.since + configuration.requestTimeout) } ?? due
    }

    // MARK: What is sent

    func connected(at now: MonotonicInstant) {
        life.connected(at: now)
        deadlines.connected(at: now)
    }

    func submit(_ count: Int, at now: MonotonicInstant) -> Bool {
        if deadlines.willSend(at: now) { ping() }
        let free = self.free
        defer { deadlines.opened(lastStream, &life) }
        var left = min(count, free)
        while left > 0 {
            guard let run = deliveries.next(left, in: bodyRoom) else { return false }
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
        let push = run.push(at: position)
        let tag = inFlight.insert(push, at: now)
        do {
            let submission = try outgoing.submit(position, of: run, tag: tag, to: session)
            if Int(tag) < submissions.count {
                submissions[Int(tag)] = submission
            } else {
                submissions.append(submission)
            }
            lastStream = submission.stream
            return true
        } catch {
            _ = inFlight.remove(tag)
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

    func sent(_ count: Int) { bytesSent += UInt64(count) }

    /// The gateway answers each push.
    var awaitsArrival: Bool { false }

    func arrived(allBut count: Int, at now: MonotonicInstant) {}

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
        if !budget.allows(counts, at: now) { return life.close(.flooded("many frames and few answers")) }
        checkSession(at: now)
    }

    private var counts: FrameBudget.Counts {
        let windowUpdates = session.windowUpdatesReceived
        return FrameBudget.Counts(
            frames: session.framesReceived - windowUpdates,
            answers: UInt64(ended),
            windowUpdates: windowUpdates,
            requests: UInt64(lastStream + 1) / 2,
            bodyBytes: session.bodyBytesDrained
        )
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

    // MARK: Time and the end

    func passed(to now: MonotonicInstant) {
        endUnfinished(at: now)
        while let (tag, since) = inFlight.oldest, now - since >= configuration.requestTimeout {
            wasLate(tag, at: now)
            readEvents(at: now)
        }
        checkSession(at: now)
        let wasReady = life.isReady
        life.passed(to: now)
        if deadlines.passed(to: now, &life, inFlight: inFlight.count) { ping() }
        if wasReady, life.end == .windowClosed { giveBackUnwritten(at: now) }
    }

    /// The gateway has accepted these pushes. Only the ends of their streams are missing.
    private func endUnfinished(at now: MonotonicInstant) {
        while let (submission, since) = unfinished.first,
            now - since >= Self.longestEnd || !session.hasStatus(submission)
        {
            _ = unfinished.popFirst()
            session.reset(submission, bytesWritten: bytesSent)
        }
        readEvents(at: now)
    }

    /// A push was not answered in time. If its request was not written in full, that is not the gateway's fault: the push gets more
    /// time if some of its bytes were sent since the last check, and is sent elsewhere if not.
    private func wasLate(_ tag: UInt32, at now: MonotonicInstant) {
        let submission = submissions[Int(tag)]
        if session.isWritten(submission, bytesWritten: bytesSent) {
            // The end of an answer may be missing, but not the answer.
            if !session.hasStatus(submission) {
                answers.wasLate()
                life.wasLate()
            }
        } else if inFlight.hasMoved(tag, to: session.bodyBytesDrained(of: submission)) {
            return inFlight.restart(tag, at: now)
        }
        if !session.reset(submission, bytesWritten: bytesSent) { forget(tag) }
    }

    /// The window stays closed: requests waiting for it are sent elsewhere; requests written in full may still be answered.
    private func giveBackUnwritten(at now: MonotonicInstant) {
        for tag in inFlight.tags {
            let submission = submissions[Int(tag)]
            if session.isWritten(submission, bytesWritten: bytesSent) { continue }
            session.reset(submission, bytesWritten: bytesSent)
        }
        readEvents(at: now)
    }

    func retire(_ end: ConnectionEnd) { life.retire(end) }

    func end(_ end: ConnectionEnd) -> [UInt8] {
        life.close(end)
        var farewell: [UInt8] = []
        do {
            // After a violation the session itself sends GOAWAY.
            if !session.isFinished { try session.goAway(life.end?.errorCode ?? .noError) }
            try session.drain(into: &farewell)
        } catch {
            farewell = []
        }
        session.end(bytesWritten: bytesSent)
        readEvents(at: deadlines.lastHeard)
        while let (tag, _) = inFlight.oldest { forget(tag) }
        return farewell
    }

    /// Ends a push that the session no longer knows.
    private func forget(_ tag: UInt32) {
        guard let push = inFlight.remove(tag) else { return }
        deliveries.endUnanswered(push, because: life.end?.unanswered ?? Self.late)
    }

    func report(to meter: TrafficMeter) { meter.take(&answers) }
}
