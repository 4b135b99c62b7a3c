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
        outcomes = Outcomes(repeating: .pending, count: count)
        self.batch = batch
        arrived = now
        permit = terms.permit
        // With none at all it would be over again at once, and so on.
        patience = terms.patience.map { max($0, .milliseconds(1)) }
        patienceEnd = patience.map { now + $0 }
        remaining = count
        waiting = count
        self.completion = completion
        self.onCancel = onCancel
    }

    /// When its caller may have waited for long enough.
    var returnDue: MonotonicInstant { patienceEnd ?? .distantFuture }

    /// Until when its pushes may wait for a connection, if the gateway does not answer any push before: while it does,
    /// they only wait for their turn.
    func deadline(lastAnswer: MonotonicInstant, waiting limit: Duration) -> MonotonicInstant {
        max(arrived, lastAnswer) + limit
    }

    /// How many bytes the body of the next push has; nil if there is none. Pushes before it that cannot be sent at all
    /// end here.
    func upcoming() -> Int? {
        peek().map { bodyCount(of: $0) }
    }

    private func peek() -> Int? {
        if againCursor < again.count { return Int(again[againCursor]) }
        while cursor < batch.count {
            if !batch.pushes[cursor].isMalformed { return cursor }
            waiting -= 1
            end(cursor, Outcome(.rejected, reason: .malformedToken))
            cursor += 1
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
        guard let first = peek() else { return .none }
        let count = min(count, room.count(of: bodyCount(of: first)))
        if count <= 0 { return .tooLarge }
        guard againCursor == again.count else {
            takeAgain()
            return .run(first..<first + 1)
        }
        let end = endOfRun(from: first, atMost: count)
        waiting -= end - first
        cursor = end
        return .run(first..<end)
    }

    private func takeAgain() {
        waiting -= 1
        againCursor += 1
        if againCursor == again.count {
            again.removeAll(keepingCapacity: true)
            againCursor = 0
        }
    }

    private func endOfRun(from first: Int, atMost count: Int) -> Int {
        let pushes = batch.pushes
        let heading = pushes[first].heading
        let limit = count < pushes.count - first ? first + count : pushes.count
        var end = first + 1
        while end < limit, pushes[end].heading == heading, !pushes[end].isMalformed { end += 1 }
        return end
    }

    private func bodyCount(of position: Int) -> Int {
        Int(batch.headings[Int(batch.pushes[position].heading)].payload.count)
    }

    /// A push came back without having been processed, because its connection takes no more. It goes out on another,
    /// for as long as its time lasts.
    func takeBack(_ position: Int) {
        again.append(Int32(position))
        waiting += 1
    }

    /// A push was refused without having been processed, on a connection that takes others. False if that was once too
    /// often.
    func takeBackRefused(_ position: Int) -> Bool {
        if refusals.isEmpty { refusals = Array(repeating: 0, count: batch.count) }
        guard refusals[position] < Self.refusalLimit else { return false }
        refusals[position] += 1
        takeBack(position)
        return true
    }

    /// A push that was submitted has its outcome.
    func end(_ position: Int, _ outcome: Outcome) {
        outcomes[position] = outcome
        remaining -= 1
    }

    /// Lets an answer be read into the outcomes' texts.
    func read(_ answer: (inout Outcomes) -> Outcome) -> Outcome { answer(&outcomes) }

    /// The caller has gone.
    func cancel() { isCancelled = true }

    /// Nothing that still waits will be submitted.
    func giveUpWaiting(_ end: WaitingEnd) {
        while case .run(let positions) = next(.max, in: .unlimited) {
            for position in positions { self.end(position, OutcomeRules.outcome(of: .neverSubmitted)) }
        }
        note(end)
    }

    /// Why pushes of it end unsent.
    func note(_ end: WaitingEnd) {
        switch end {
        case .unconnected(let failure): outcomes.connectFailure = failure
        case .withheld(let failure): outcomes.withheld = failure
        }
    }

    /// Hands the caller what it has once its patience is over, and the rest later. As long as nothing at all has ended,
    /// there is nothing to hand over, and the caller waits for the same time again.
    func returnEarly(at now: MonotonicInstant, capacity: Int?) {
        guard let patience = self.patience, let end = patienceEnd, now >= end else { return }
        guard remaining < batch.count else {
            patienceEnd = now + patience
            return
        }
        patienceEnd = nil
        let rest = Remainder(onCancel: onCancel)
        self.rest = rest
        completion.take()?.resume(returning: Delivered(outcomes, rest: rest, capacity: capacity))
    }

    /// Hands the outcomes to the caller once every push has one. True if it did.
    func finishIfDone(capacity: Int?) -> Bool {
        guard remaining == 0 else { return false }
        completion.take()?.resume(returning: Delivered(outcomes, capacity: capacity))
        rest.take()?.end(with: outcomes)
        return true
    }
}
