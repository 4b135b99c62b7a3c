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
        self.session = try ClientSession()
        self.deliveries = deliveries
        self.requestTimeout = requestTimeout
        self.expectancy = expectancy
        self.authorization = authorization
        self.isAccepted = trial == nil
        self.trial = trial ?? 0
        self.outgoing = Outgoing(authority: authority, token: authorization?.token)
        self.life = ConnectionLife(limits, at: now)
        self.budget = FrameBudget(at: now)
    }

    /// The pushes to come carry this provider token.
    func authorize(_ authorization: Authorization) {
        if self.refusedToken != nil { return }
        self.authorization = authorization
        self.outgoing.use(authorization.token)
    }

    // MARK: Room

    /// How many pushes are in flight.
    var inFlightCount: Int { self.inFlight.count }

    /// How many pushes it takes now, as far as streams go; none if the window has no room for the next one.
    var free: Int {
        guard self.life.isReady else { return 0 }
        let free = min(self.session.freeStreams, self.allowance - self.inFlight.count)
        guard free > 0, self.hasWindow else { return 0 }
        return free
    }

    private var bodyRoom: BodyRoom {
        BodyRoom(window: self.session.sendWindow, waiting: self.session.bodyBytesWaiting)
    }

    /// Whether the window has room for the next push.
    private var hasWindow: Bool { self.bodyRoom.count(of: self.deliveries.upcoming() ?? 0) > 0 }

    /// Takes note of whether the window is what keeps more pushes from being sent.
    private func measureWindow() {
        let count = self.inFlight.count
        if count > 0, count < self.allowance, !self.hasWindow {
            self.windowCapacity = count
        } else if let capacity = self.windowCapacity, count > capacity {
            self.windowCapacity = nil
        }
    }

    /// How many pushes the gateway takes at a time, be they in flight already or not.
    var capacity: Int {
        self.life.isReady ? min(self.session.maxStreams, self.windowCapacity ?? .max) : 0
    }

    /// It takes as many pushes as the gateway allows for.
    var isProven: Bool {
        self.isAccepted && (self.allowance >= self.session.maxStreams || self.windowCapacity != nil)
    }

    /// How many pushes may be in flight: one while nobody knows whether the gateway is still there, and those of the trial
    /// until the credential is accepted; then some, and one more with each answer, so that a gateway that soon says goodbye
    /// has little to send back. Where the connection before was lost early, this one takes as many as that had answered; only
    /// when it has answered them too it begins to be trusted with more.
    private var allowance: Int {
        if self.life.isInDoubt { return 1 }
        guard self.isAccepted else { return self.trial }
        let answered = self.life.answered
        guard let expectancy = self.expectancy else { return Self.first + answered }
        if answered >= expectancy { return Self.first + answered - expectancy }
        let opened = Int(self.lastStream + 1) / 2
        return min(Self.first + answered, max(Self.few, self.inFlight.count + expectancy - opened))
    }

    /// How many pushes a connection takes before it has answered any.
    private static let first = 64
    /// How many it may have in flight in any case: were it none, a push that is never answered would hold up all others.
    private static let few = 8

    /// When it must be looked at next, if nothing happens before.
    var due: MonotonicInstant {
        let due = self.life.due(inFlight: self.inFlight.count)
        return self.inFlight.oldest.map { min(due, $0.since + self.requestTimeout) } ?? due
    }

    // MARK: What goes out

    /// The way to the server is made.
    func connected(at now: MonotonicInstant) { self.life.connected(at: now) }

    /// Takes as many of the waiting pushes as that, or as it can; they are sent with the bytes drained next. False if it
    /// takes no more, or the next one does not fit into the window.
    func submit(_ count: Int, at now: MonotonicInstant) -> Bool {
        if self.life.willSend(at: now) == .ping { self.ping() }
        let free = self.free
        let before = self.lastStream
        defer { if self.lastStream > before { self.life.opened(self.lastStream) } }
        var left = min(count, free)
        while left > 0 {
            guard let run = self.deliveries.next(left, in: self.bodyRoom) else { return false }
            guard self.submit(run, at: now) else { return false }
            left -= run.positions.count
        }
        return count < free
    }

    /// False if the connection takes no more; what is left of the run goes elsewhere.
    private func submit(_ run: DeliveryRun, at now: MonotonicInstant) -> Bool {
        for position in run.positions where !self.submit(run.push(at: position), of: run.delivery, at: now) {
            for left in position + 1..<run.positions.upperBound { self.deliveries.takeBack(run.push(at: left)) }
            return false
        }
        return true
    }

    /// False if the connection takes no more.
    private func submit(_ push: QueuedPush, of delivery: Delivery, at now: MonotonicInstant) -> Bool {
        let tag = self.inFlight.insert(push, at: now)
        do {
            let submission = try self.outgoing.submit(Int(push.position), of: delivery, tag: tag, to: self.session)
            if Int(tag) < self.submissions.count {
                self.submissions[Int(tag)] = submission
            } else {
                self.submissions.append(submission)
            }
            self.lastStream = submission.stream
            return true
        } catch {
            _ = self.inFlight.remove(tag)
            // A field that cannot be sent is the message's fault; everything else is this connection's.
            if error.code == .invalidField {
                self.deliveries.end(push, OutcomeRules.outcome(of: .unsendable))
                return true
            }
            self.deliveries.takeBack(push)
            self.life.retire(ConnectionEnd(error))
            return false
        }
    }

    /// There are bytes to drain, as far as is known without trying.
    var wantsToWrite: Bool { self.session.wantsToWrite }

    /// Appends bytes to send until there are so many.
    func drain(into output: inout [UInt8], limit: Int) throws(HTTP2Error) {
        try self.session.drain(into: &output, limit: limit)
    }

    /// So many of the bytes drained have left.
    func sent(_ count: Int) { self.bytesSent += UInt64(count) }

    /// Bytes were drained and sent, as far as the peer took them.
    func wrote(isStalled: Bool, at now: MonotonicInstant) {
        self.life.wrote(isStalled: isStalled, at: now)
        self.session.turnEnded()
        self.readEvents(at: now)
        self.isStalled = isStalled
        self.checkSession(at: now)
    }

    private func ping() {
        // Without memory for a ping, the deadlines of pushes will do.
        try? self.session.ping(1)
    }

    // MARK: What comes in

    /// Takes bytes that came.
    func received(_ bytes: RawSpan, at now: MonotonicInstant) {
        self.life.heard(at: now)
        do {
            try self.session.feed(bytes)
        } catch {
            self.readEvents(at: now)
            return self.life.close(ConnectionEnd(error))
        }
        self.readEvents(at: now)
        if !self.budget.allows(self.counts, at: now) {
            return self.life.close(.flooded("it sent frame after frame and few answers"))
        }
        self.checkSession(at: now)
    }

    private var counts: FrameBudget.Counts {
        let windowUpdates = self.session.windowUpdatesReceived
        return FrameBudget.Counts(
            frames: self.session.framesReceived - windowUpdates,
            answers: UInt64(self.ended),
            windowUpdates: windowUpdates,
            requests: UInt64(self.lastStream + 1) / 2,
            bodyBytes: self.session.bodyBytesDrained
        )
    }

    /// Why the session is at its end, where it is, and what it lets us do otherwise.
    private func checkSession(at now: MonotonicInstant) {
        if self.session.isFinished {
            self.life.close(self.session.failure.map { ConnectionEnd($0) } ?? .closedByPeer)
        } else if self.life.isReady {
            self.life.offered(nothing: self.session.maxStreams == 0, at: now)
            let isHeldBack = self.session.sendWindow <= 0 || (self.session.unwrittenRequests > 0 && !self.isStalled)
            self.life.held(back: isHeldBack, after: self.session.bodyBytesDrained, at: now)
            self.measureWindow()
        }
    }

    // MARK: Time and the end

    /// Time has passed: gives up the pushes that were not answered in time, and looks after the connection.
    func passed(to now: MonotonicInstant) {
        while let (tag, since) = self.inFlight.oldest, now - since >= self.requestTimeout {
            self.wasLate(tag, at: now)
            self.readEvents(at: now)
        }
        self.checkSession(at: now)
        let wasReady = self.life.isReady
        if self.life.passed(to: now, inFlight: self.inFlight.count) == .ping { self.ping() }
        if wasReady, self.life.end == .windowClosed { self.giveBackUnwritten(at: now) }
    }

    /// A push was not answered in time. Where its request was not written in full, that says nothing of the gateway: it is
    /// given more time if it gets on, and goes elsewhere if it does not.
    private func wasLate(_ tag: UInt32, at now: MonotonicInstant) {
        let submission = self.submissions[Int(tag)]
        if self.session.isWritten(submission, bytesWritten: self.bytesSent) {
            self.report.late()
            self.life.wasLate()
        } else if self.inFlight.hasMoved(tag, to: self.session.bodyBytesDrained(of: submission)) {
            return self.inFlight.restart(tag, at: now)
        }
        if !self.session.reset(submission, bytesWritten: self.bytesSent) { self.forget(tag) }
    }

    /// The window does not open: what waits for it is sent elsewhere, what was written may still be answered.
    private func giveBackUnwritten(at now: MonotonicInstant) {
        for tag in self.inFlight.tags {
            let submission = self.submissions[Int(tag)]
            if self.session.isWritten(submission, bytesWritten: self.bytesSent) { continue }
            self.session.reset(submission, bytesWritten: self.bytesSent)
        }
        self.readEvents(at: now)
    }

    /// Takes no more pushes; those in flight may still be answered.
    func retire(_ end: ConnectionEnd) { self.life.retire(end) }

    /// It is over: every push in flight ends. Returns a last word to the peer, to be sent if nothing else waits to be.
    func end(_ end: ConnectionEnd) -> [UInt8] {
        self.life.close(end)
        var farewell: [UInt8] = []
        do {
            // One who broke the rules is told so by the session itself.
            if !self.session.isFinished { try self.session.goAway(self.life.end?.errorCode ?? .noError) }
            try self.session.drain(into: &farewell)
        } catch {
            // The peer broke the rules so that there is nothing more to say.
            farewell = []
        }
        self.session.sweep(bytesWritten: self.bytesSent)
        self.readEvents(at: self.life.lastHeard)
        while let (tag, _) = self.inFlight.oldest { self.forget(tag) }
        return farewell
    }

    /// A push of which the session knows nothing any more.
    private func forget(_ tag: UInt32) {
        guard let push = self.inFlight.remove(tag) else { return }
        self.deliveries.end(push, OutcomeRules.outcome(of: .streamEnded(isSurelyUnprocessed: false)))
    }

    /// Hands over what went on since the last time.
    func tell(_ meter: TrafficMeter) {
        guard !self.report.isEmpty else { return }
        meter.add(self.report)
        self.report.removeAll()
    }
}
