import IO

/// A batch on its way: a cursor over flat arrays, and the slots that its answers fill.
final class Delivery {
    /// How often a push may be refused by itself before its outcome is reported.
    private static let refusalLimit: UInt8 = 5

    /// Tells it from every other delivery of its pool, past ones included.
    let serial: Int
    let batch: PushBatch
    private let arrived: MonotonicInstant
    let permit: SendingPermit?
    private let patience: Duration?
    /// When the caller has waited long enough for all of it.
    private var patienceEnd: MonotonicInstant?
    private(set) var outcomes: Outcomes
    private var cursor = 0
    /// Pushes that came back and go out again before all others, first come, first served.
    private var again: [Int32] = []
    private var againCursor = 0
    /// How often each push was refused; empty until the first is.
    private var refusals: [UInt8] = []
    /// How many have no outcome yet.
    private(set) var remaining: Int
    /// How many are neither in flight nor ended.
    private(set) var waiting: Int
    /// Its caller has gone: what comes back does not go out again.
    private(set) var isCancelled = false
    /// The caller, until it has something; nil also where nobody waits.
    private var completion: CheckedContinuation<Delivered?, Never>?
    /// What the caller has instead, once it has some of the outcomes.
    private var rest: Remainder?
    private let onCancel: @Sendable () -> Void

    init(
        _ serial: Int,
        _ batch: PushBatch,
        _ terms: DeliveryTerms,
        from now: MonotonicInstant,
        completion: CheckedContinuation<Delivered?, Never>?,
        onCancel: @escaping @Sendable () -> Void
    ) {
        self.serial = serial
        let count = batch.count
        self.outcomes = Outcomes(repeating: .pending, count: count)
        self.batch = batch
        self.arrived = now
        self.permit = terms.permit
        // With none at all it would be over again at once, and so on.
        self.patience = terms.patience.map { max($0, .milliseconds(1)) }
        self.patienceEnd = self.patience.map { now + $0 }
        self.remaining = count
        self.waiting = count
        self.completion = completion
        self.onCancel = onCancel
    }

    /// When its caller may have waited for long enough.
    var returnDue: MonotonicInstant { self.patienceEnd ?? .distantFuture }

    /// Until when its pushes may wait for a connection, if the gateway does not answer any push before: while it does,
    /// they only wait for their turn.
    func deadline(lastAnswer: MonotonicInstant, waiting limit: Duration) -> MonotonicInstant {
        max(self.arrived, lastAnswer) + limit
    }

    /// How many bytes the body of the next push has; nil if there is none. Pushes before it that cannot be sent at all
    /// end here.
    func upcoming() -> Int? {
        self.peek().map { self.bodyCount(of: $0) }
    }

    private func peek() -> Int? {
        if self.againCursor < self.again.count { return Int(self.again[self.againCursor]) }
        while self.cursor < self.batch.count {
            if !self.batch.pushes[self.cursor].isMalformed { return self.cursor }
            self.waiting -= 1
            self.end(self.cursor, Outcome(.rejected, reason: .malformedToken))
            self.cursor += 1
        }
        return nil
    }

    /// What there is to submit next.
    enum Next {
        /// Pushes in a row, all of one message.
        case run(Range<Int>)
        /// There is no room for the body of the next push.
        case tooLarge
        case none
    }

    /// Takes the pushes to submit next: as many as that, as there is room for, and as lie in a row.
    func next(_ count: Int, in room: BodyRoom) -> Next {
        guard let first = self.peek() else { return .none }
        let count = min(count, room.count(of: self.bodyCount(of: first)))
        if count <= 0 { return .tooLarge }
        guard self.againCursor == self.again.count else {
            self.takeAgain()
            return .run(first..<first + 1)
        }
        let end = self.endOfRun(from: first, atMost: count)
        self.waiting -= end - first
        self.cursor = end
        return .run(first..<end)
    }

    private func takeAgain() {
        self.waiting -= 1
        self.againCursor += 1
        if self.againCursor == self.again.count {
            self.again.removeAll(keepingCapacity: true)
            self.againCursor = 0
        }
    }

    private func endOfRun(from first: Int, atMost count: Int) -> Int {
        let pushes = self.batch.pushes
        let heading = pushes[first].heading
        let limit = count < pushes.count - first ? first + count : pushes.count
        var end = first + 1
        while end < limit, pushes[end].heading == heading, !pushes[end].isMalformed { end += 1 }
        return end
    }

    private func bodyCount(of position: Int) -> Int {
        Int(self.batch.headings[Int(self.batch.pushes[position].heading)].payload.count)
    }

    /// A push came back without having been processed, because its connection takes no more. It goes out on another,
    /// for as long as its time lasts.
    func takeBack(_ position: Int) {
        self.again.append(Int32(position))
        self.waiting += 1
    }

    /// A push was refused without having been processed, on a connection that takes others. False if that was once too
    /// often.
    func takeBackRefused(_ position: Int) -> Bool {
        if self.refusals.isEmpty { self.refusals = Array(repeating: 0, count: self.batch.count) }
        guard self.refusals[position] < Self.refusalLimit else { return false }
        self.refusals[position] += 1
        self.takeBack(position)
        return true
    }

    /// A push that was submitted has its outcome.
    func end(_ position: Int, _ outcome: Outcome) {
        self.outcomes[position] = outcome
        self.remaining -= 1
    }

    /// Lets an answer be read into the outcomes' texts.
    func read(_ answer: (inout Outcomes) -> Outcome) -> Outcome { answer(&self.outcomes) }

    /// The caller has gone.
    func cancel() { self.isCancelled = true }

    /// Nothing that still waits will be submitted.
    func giveUpWaiting(_ end: WaitingEnd) {
        while case .run(let positions) = self.next(.max, in: .unlimited) {
            for position in positions { self.end(position, OutcomeRules.outcome(of: .neverSubmitted)) }
        }
        self.note(end)
    }

    /// Why pushes of it end unsent.
    func note(_ end: WaitingEnd) {
        switch end {
        case .unconnected(let failure): self.outcomes.connectFailure = failure
        case .withheld(let failure): self.outcomes.withheld = failure
        }
    }

    /// Hands the caller what it has once its patience is over, and the rest later. As long as nothing at all has ended,
    /// there is nothing to hand over, and the caller waits for the same time again.
    func returnEarly(at now: MonotonicInstant, capacity: Int?) {
        guard let patience = self.patience, let end = self.patienceEnd, now >= end else { return }
        guard self.remaining < self.batch.count else {
            self.patienceEnd = now + patience
            return
        }
        self.patienceEnd = nil
        let rest = Remainder(onCancel: self.onCancel)
        self.rest = rest
        self.completion.take()?.resume(returning: Delivered(self.outcomes, rest: rest, capacity: capacity))
    }

    /// Hands the outcomes to the caller once every push has one. True if it did.
    func finishIfDone(capacity: Int?) -> Bool {
        guard self.remaining == 0 else { return false }
        self.completion.take()?.resume(returning: Delivered(self.outcomes, capacity: capacity))
        self.rest.take()?.end(with: self.outcomes)
        return true
    }
}
