import CarillonHTTP2
import CarillonIO

/// The requests on one connection: what the session writes of them, and the pushes in flight, each under a tag.
struct HTTP2Requests {
    /// How long the end of a 200 may take after its header. It has no body.
    private static let longestEnd = Duration.seconds(2)

    private let session: ClientSession
    private var outgoing: Outgoing
    private(set) var inFlight = InFlightTable()
    /// The session's handles for the pushes in flight, by tag.
    private var submissions: [ClientSession.Submission] = []
    /// Answers with the status 200 whose end had not arrived with the header.
    private var unfinished = Fifo<(submission: ClientSession.Submission, since: MonotonicInstant)>()
    private(set) var lastStream: Int32 = 0
    private var bytesSent: UInt64 = 0
    private var endedCount: UInt64 = 0

    init(on session: ClientSession, _ outgoing: Outgoing) {
        self.session = session
        self.outgoing = outgoing
    }

    /// How many streams have been opened.
    var opened: Int { Int(lastStream + 1) / 2 }

    /// When the first time limit ends, if an answer may take this long.
    func due(after limit: Duration) -> MonotonicInstant {
        let answer = inFlight.oldest.map { $0.since + limit } ?? .distantFuture
        return unfinished.first.map { min(answer, $0.since + Self.longestEnd) } ?? answer
    }

    var bodyRoom: BodyRoom { BodyRoom(window: session.sendWindow, waiting: session.bodyBytesWaiting) }

    var counts: FrameBudget.Counts {
        let windowUpdates = session.windowUpdatesReceived
        return FrameBudget.Counts(
            frames: session.framesReceived - windowUpdates,
            answers: endedCount,
            windowUpdates: windowUpdates,
            requests: UInt64(opened),
            bodyBytes: session.bodyBytesDrained
        )
    }

    // MARK: What is sent

    /// Further pushes carry this provider token.
    mutating func use(_ token: ProviderToken) { outgoing.use(token) }

    /// Submits a push. If this throws, the push is not in flight.
    mutating func submit(_ position: Int, of run: DeliveryQueue.Run, at now: MonotonicInstant) throws(HTTP2Error) {
        let tag = inFlight.insert(run.push(at: position), at: now)
        do {
            let submission = try outgoing.submit(position, of: run, tag: tag, to: session)
            if Int(tag) < submissions.count {
                submissions[Int(tag)] = submission
            } else {
                submissions.append(submission)
            }
            lastStream = submission.stream
        } catch {
            _ = inFlight.remove(tag)
            throw error
        }
    }

    /// The kernel has accepted this many of the drained bytes.
    mutating func sent(_ count: Int) { bytesSent += UInt64(count) }

    /// Whether the whole request has been sent.
    func isWritten(_ tag: UInt32) -> Bool { session.isWritten(submissions[Int(tag)], bytesWritten: bytesSent) }

    /// Whether more of the request's body has been sent since the last check.
    mutating func hasMoved(_ tag: UInt32) -> Bool {
        inFlight.hasMoved(tag, to: session.bodyBytesDrained(of: submissions[Int(tag)]))
    }

    // MARK: What is answered

    /// Whether the header of the answer has arrived.
    func hasStatus(_ tag: UInt32) -> Bool { session.hasStatus(submissions[Int(tag)]) }

    /// The header of a 200 has arrived, but not the end of the answer.
    mutating func begun(_ submission: ClientSession.Submission, at now: MonotonicInstant) {
        unfinished.append((submission, now))
    }

    /// Restarts the time limit of this push.
    mutating func restart(_ tag: UInt32, at now: MonotonicInstant) { inFlight.restart(tag, at: now) }

    /// The session has reported the end of a request. Returns its push; nil if that has already been removed.
    mutating func ended(_ tag: UInt32) -> QueuedPush? {
        guard let push = inFlight.remove(tag) else { return nil }
        endedCount += 1
        return push
    }

    // MARK: What is ended

    /// Cancels a request. Returns false if it has already ended.
    @discardableResult
    func reset(_ tag: UInt32) -> Bool { session.reset(submissions[Int(tag)], bytesWritten: bytesSent) }

    /// Cancels the requests that were not written in full.
    func resetUnwritten() {
        for tag in inFlight.tags where !isWritten(tag) { reset(tag) }
    }

    /// Cancels the requests whose answers have not ended in time.
    mutating func resetUnfinished(at now: MonotonicInstant) {
        while let (submission, since) = unfinished.first,
            now - since >= Self.longestEnd || !session.hasStatus(submission)
        {
            _ = unfinished.popFirst()
            session.reset(submission, bytesWritten: bytesSent)
        }
    }

    /// Removes the push of a request that the session no longer knows.
    mutating func remove(_ tag: UInt32) -> QueuedPush? { inFlight.remove(tag) }

    /// Ends the session. Returns the last bytes for the peer.
    func end(_ code: ErrorCode) -> [UInt8] {
        var farewell: [UInt8] = []
        do {
            // After a violation the session itself sends GOAWAY.
            if !session.isFinished { try session.goAway(code) }
            try session.drain(into: &farewell)
        } catch {
            farewell = []
        }
        session.end(bytesWritten: bytesSent)
        return farewell
    }
}
