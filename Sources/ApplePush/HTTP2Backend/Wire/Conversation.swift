import HTTP2
import IO

/// What is said on one connection to the gateway, without the connection: pushes, bytes that came and the time go in;
/// bytes to send and outcomes come out. It has no socket, so whatever a peer may say can be tried on it.
///
/// Every push that it takes from the deliveries it gives back exactly once, with its outcome or to be sent again: it
/// keeps them in a table of its own, and what is still in there at the end ends there.
final class Conversation {
    var life: ConnectionLife
    private(set) var authorization: Authorization?
    /// The provider token that the gateway called too old.
    var refusedToken: ProviderToken?

    let session: ClientSession
    let deliveries: DeliveryQueue
    private let requestTimeout: Duration
    private let expectancy: Int?
    private var budget: FrameBudget
    var inFlight = InFlightTable()
    /// What the session calls the pushes in flight, by tag.
    private var submissions: [Submission] = []
    private var lastStream: Int32 = 0
    private var outgoing: Outgoing
    var report = TrafficReport()
    /// How many pushes have ended here, in whatever way.
    var ended = 0
    private var bytesSent: UInt64 = 0
    /// The kernel takes no more bytes: what waits then does not wait for a window.
    private var isStalled = false
    /// How many pushes filled the send window when it last was what kept more from being sent.
    private var windowCapacity: Int?
    /// An answer showed that the gateway accepts the credential.
    var isAccepted: Bool
    /// How many pushes may be in flight before.
    private let trial: Int

    /// - Parameters:
    ///   - trial: how many pushes the gateway is to judge the credential by; nil: it has accepted it before.
    ///   - expectancy: after how many answers the connection before was lost, if that was early in its life.
    init(
        authority: String,
        trial: Int?,
        authorization: Authorization?,
        deliveries: DeliveryQueue,
        limits: ConnectionLife.Limits,
        requestTimeout: Duration,
        expectancy: Int? = nil,
        at now: MonotonicInstant
    ) throws(HTTP2Error) {
        session = try ClientSession()
        self.deliveries = deliveries
        self.requestTimeout = requestTimeout
        self.expectancy = expectancy
        self.authorization = authorization
        isAccepted = trial == nil
        self.trial = trial ?? 0
        outgoing = Outgoing(authority: authority, token: authorization?.token)
        life = ConnectionLife(limits, at: now)
        budget = FrameBudget(at: now)
    }

    /// The pushes to come carry this provider token.
    func authorize(_ authorization: Authorization) {
        if refusedToken != nil { return }
        self.authorization = authorization
        outgoing.use(authorization.token)
    }

    // MARK: Room

    /// How many pushes are in flight.
    var inFlightCount: Int { inFlight.count }

    /// How many pushes it takes now, as far as streams go; none if the window has no room for the next one.
    var free: Int {
        guard life.isReady else { return 0 }
        let free = min(session.freeStreams, allowance - inFlight.count)
        guard free > 0, hasWindow else { return 0 }
        return free
    }

    private var bodyRoom: BodyRoom {
        BodyRoom(window: session.sendWindow, waiting: session.bodyBytesWaiting)
    }

    /// Whether the window has room for the next push.
    private var hasWindow: Bool { bodyRoom.count(of: deliveries.upcoming() ?? 0) > 0 }

    /// Takes note of whether the window is what keeps more pushes from being sent.
    private func measureWindow() {
        let count = inFlight.count
        if count > 0, count < allowance, !hasWindow {
            windowCapacity = count
        } else if let capacity = windowCapacity, count > capacity {
            windowCapacity = nil
        }
    }

    /// How many pushes the gateway takes at a time, be they in flight already or not.
    var capacity: Int {
        life.isReady ? min(session.maxStreams, windowCapacity ?? .max) : 0
    }

    /// It takes as many pushes as the gateway allows for.
    var isProven: Bool {
        isAccepted && (allowance >= session.maxStreams || windowCapacity != nil)
    }

    /// How many pushes may be in flight: one while nobody knows whether the gateway is still there, and those of the trial
    /// until the credential is accepted; then some, and one more with each answer, so that a gateway that soon says goodbye
    /// has little to send back. Where the connection before was lost early, this one takes as many as that had answered; only
    /// when it has answered them too it begins to be trusted with more.
    private var allowance: Int {
        if life.isInDoubt { return 1 }
        guard isAccepted else { return trial }
        let answered = life.answered
        guard let expectancy = self.expectancy else { return Self.first + answered }
        if answered >= expectancy { return Self.first + answered - expectancy }
        let opened = Int(lastStream + 1) / 2
        return min(Self.first + answered, max(Self.few, inFlight.count + expectancy - opened))
    }

    /// How many pushes a connection takes before it has answered any.
    private static let first = 64
    /// How many it may have in flight in any case: were it none, a push that is never answered would hold up all others.
    private static let few = 8

    /// When it must be looked at next, if nothing happens before.
    var due: MonotonicInstant {
        let due = life.due(inFlight: inFlight.count)
        return inFlight.oldest.map { min(due, $0.since + requestTimeout) } ?? due
    }

    // MARK: What goes out

    /// The way to the server is made.
    func connected(at now: MonotonicInstant) { life.connected(at: now) }

    /// Takes as many of the waiting pushes as that, or as it can; they are sent with the bytes drained next. False if it
    /// takes no more, or the next one does not fit into the window.
    func submit(_ count: Int, at now: MonotonicInstant) -> Bool {
        if life.willSend(at: now) == .ping { ping() }
        let free = self.free
        let before = lastStream
        defer { if lastStream > before { life.opened(lastStream) } }
        var left = min(count, free)
        while left > 0 {
            guard let run = deliveries.next(left, in: bodyRoom) else { return false }
            guard submit(run, at: now) else { return false }
            left -= run.positions.count
        }
        return count < free
    }

    /// False if the connection takes no more; what is left of the run goes elsewhere.
    private func submit(_ run: DeliveryRun, at now: MonotonicInstant) -> Bool {
        for position in run.positions where !submit(run.push(at: position), of: run.delivery, at: now) {
            for left in position + 1..<run.positions.upperBound { deliveries.takeBack(run.push(at: left)) }
            return false
        }
        return true
    }

    /// False if the connection takes no more.
    private func submit(_ push: QueuedPush, of delivery: Delivery, at now: MonotonicInstant) -> Bool {
        let tag = inFlight.insert(push, at: now)
        do {
            let submission = try outgoing.submit(Int(push.position), of: delivery, tag: tag, to: session)
            if Int(tag) < submissions.count {
                submissions[Int(tag)] = submission
            } else {
                submissions.append(submission)
            }
            lastStream = submission.stream
            return true
        } catch {
            _ = inFlight.remove(tag)
            // A field that cannot be sent is the message's fault; everything else is this connection's.
            if error.code == .invalidField {
                deliveries.end(push, OutcomeRules.outcome(of: .unsendable))
                return true
            }
            deliveries.takeBack(push)
            life.retire(ConnectionEnd(error))
            return false
        }
    }

    /// There are bytes to drain, as far as is known without trying.
    var wantsToWrite: Bool { session.wantsToWrite }

    /// Appends bytes to send until there are so many.
    func drain(into output: inout [UInt8], limit: Int) throws(HTTP2Error) {
        try session.drain(into: &output, limit: limit)
    }

    /// So many of the bytes drained have left.
    func sent(_ count: Int) { bytesSent += UInt64(count) }

    /// Bytes were drained and sent, as far as the peer took them.
    func wrote(isStalled: Bool, at now: MonotonicInstant) {
        life.wrote(isStalled: isStalled, at: now)
        session.turnEnded()
        readEvents(at: now)
        self.isStalled = isStalled
        checkSession(at: now)
    }

    private func ping() {
        // Without memory for a ping, the deadlines of pushes will do.
        try? session.ping(1)
    }

    // MARK: What comes in

    /// Takes bytes that came.
    func received(_ bytes: RawSpan, at now: MonotonicInstant) {
        life.heard(at: now)
        do {
            try session.feed(bytes)
        } catch {
            readEvents(at: now)
            return life.close(ConnectionEnd(error))
        }
        readEvents(at: now)
        if !budget.allows(counts, at: now) {
            return life.close(.flooded("it sent frame after frame and few answers"))
        }
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

    /// Why the session is at its end, where it is, and what it lets us do otherwise.
    private func checkSession(at now: MonotonicInstant) {
        if session.isFinished {
            life.close(session.failure.map { ConnectionEnd($0) } ?? .closedByPeer)
        } else if life.isReady {
            life.offered(nothing: session.maxStreams == 0, at: now)
            let isHeldBack = session.sendWindow <= 0 || (session.unwrittenRequests > 0 && !isStalled)
            life.held(back: isHeldBack, after: session.bodyBytesDrained, at: now)
            measureWindow()
        }
    }

    // MARK: Time and the end

    /// Time has passed: gives up the pushes that were not answered in time, and looks after the connection.
    func passed(to now: MonotonicInstant) {
        while let (tag, since) = inFlight.oldest, now - since >= requestTimeout {
            wasLate(tag, at: now)
            readEvents(at: now)
        }
        checkSession(at: now)
        let wasReady = life.isReady
        if life.passed(to: now, inFlight: inFlight.count) == .ping { ping() }
        if wasReady, life.end == .windowClosed { giveBackUnwritten(at: now) }
    }

    /// A push was not answered in time. Where its request was not written in full, that says nothing of the gateway: it is
    /// given more time if it gets on, and goes elsewhere if it does not.
    private func wasLate(_ tag: UInt32, at now: MonotonicInstant) {
        let submission = submissions[Int(tag)]
        if session.isWritten(submission, bytesWritten: bytesSent) {
            report.late()
            life.wasLate()
        } else if inFlight.hasMoved(tag, to: session.bodyBytesDrained(of: submission)) {
            return inFlight.restart(tag, at: now)
        }
        if !session.reset(submission, bytesWritten: bytesSent) { forget(tag) }
    }

    /// The window does not open: what waits for it is sent elsewhere, what was written may still be answered.
    private func giveBackUnwritten(at now: MonotonicInstant) {
        for tag in inFlight.tags {
            let submission = submissions[Int(tag)]
            if session.isWritten(submission, bytesWritten: bytesSent) { continue }
            session.reset(submission, bytesWritten: bytesSent)
        }
        readEvents(at: now)
    }

    /// Takes no more pushes; those in flight may still be answered.
    func retire(_ end: ConnectionEnd) { life.retire(end) }

    /// It is over: every push in flight ends. Returns a last word to the peer, to be sent if nothing else waits to be.
    func end(_ end: ConnectionEnd) -> [UInt8] {
        life.close(end)
        var farewell: [UInt8] = []
        do {
            // One who broke the rules is told so by the session itself.
            if !session.isFinished { try session.goAway(life.end?.errorCode ?? .noError) }
            try session.drain(into: &farewell)
        } catch {
            // The peer broke the rules so that there is nothing more to say.
            farewell = []
        }
        session.sweep(bytesWritten: bytesSent)
        readEvents(at: life.lastHeard)
        while let (tag, _) = inFlight.oldest { forget(tag) }
        return farewell
    }

    /// A push of which the session knows nothing any more.
    private func forget(_ tag: UInt32) {
        guard let push = inFlight.remove(tag) else { return }
        deliveries.end(push, OutcomeRules.outcome(of: .streamEnded(isSurelyUnprocessed: false)))
    }

    /// Hands over what went on since the last time.
    func tell(_ meter: TrafficMeter) {
        guard !report.isEmpty else { return }
        meter.add(report)
        report.removeAll()
    }
}
