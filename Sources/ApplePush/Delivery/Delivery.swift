import CarillonIO

/// A batch being delivered, as a value: events come in through its methods, and outcomes accumulate.
///
/// Each push waits for a connection, is in flight, or has ended. A push in flight waits again if its connection returns it
/// unprocessed. A waiting push ends unsent if no connection can be opened or accepts it in time, if its permit ends, or if its
/// caller is cancelled.
struct Delivery {
    enum State {
        /// Some of its pushes are waiting, like those of other deliveries.
        case waiting
        /// All pushes that have not ended are in flight.
        case inFlight
        case ended
    }

    /// How often one push may be refused individually before the refusal becomes its outcome.
    private static let refusalLimit: UInt8 = 5

    /// Unique in its pool.
    let serial: Int
    let batch: PushBatch
    let permit: SendingPermit?
    let arrived: MonotonicInstant
    /// How long until the caller gets the outcomes so far.
    private let returnInterval: Duration?
    /// When the caller gets the outcomes so far; far in the future once it has them.
    private(set) var returnDue = MonotonicInstant.distantFuture
    private(set) var outcomes: Outcomes
    /// The position of the first push that was never taken. It is never malformed.
    private var cursor = 0
    /// Pushes that were returned, to be sent before all others.
    private var returned: ArraySlice<Int32> = []
    /// How often each push has been refused; empty until one is.
    private var refusals: [UInt8] = []
    /// Pushes without an outcome.
    private var unended: Int
    /// Pushes that are neither in flight nor ended.
    private(set) var waiting: Int
    private var isCancelled = false

    init(_ serial: Int, _ batch: PushBatch, _ terms: DeliveryTerms, at now: MonotonicInstant) {
        self.serial = serial
        self.batch = batch
        permit = terms.permit
        arrived = now
        // An interval of zero would expire again and again.
        returnInterval = terms.returnAfter.map { max($0, .milliseconds(1)) }
        let count = batch.count
        outcomes = Outcomes(repeating: .pending, count: count)
        unended = count
        waiting = count
        if let returnInterval { returnDue = now + returnInterval }
        skipMalformed()
    }

    var state: State { waiting > 0 ? .waiting : unended > 0 ? .inFlight : .ended }

    /// When its pushes stop waiting. The time counts anew with every answer, because while the gateway answers, they only wait for
    /// others.
    func deadline(lastAnswer: MonotonicInstant, waiting limit: Duration) -> MonotonicInstant {
        max(arrived, lastAnswer) + limit
    }

    // MARK: Taking pushes

    /// The size of the next push's body; nil if no push is waiting.
    var nextSize: Int? { nextPosition.map { bodySize(of: $0) } }

    private var nextPosition: Int? {
        if let first = returned.first { return Int(first) }
        return cursor < batch.count ? cursor : nil
    }

    /// Takes up to `count` pushes of one message, as far as there is room for their bodies. Nil if no push is waiting or there is
    /// no room for the next one.
    mutating func take(_ count: Int, in room: BodyRoom) -> Range<Int>? {
        guard let first = nextPosition else { return nil }
        let count = min(count, room.count(of: bodySize(of: first)))
        if count <= 0 { return nil }
        if returned.popFirst() != nil {
            waiting -= 1
            return first..<first + 1
        }
        cursor = endOfRun(from: first, atMost: count)
        defer { skipMalformed() }
        waiting -= cursor - first
        return first..<cursor
    }

    private func endOfRun(from first: Int, atMost count: Int) -> Int {
        let pushes = batch.pushes
        let heading = pushes[first].heading
        let limit = count < pushes.count - first ? first + count : pushes.count
        var end = first + 1
        while end < limit, pushes[end].heading == heading, !pushes[end].isMalformed { end += 1 }
        return end
    }

    private mutating func skipMalformed() {
        while cursor < batch.count, batch.pushes[cursor].isMalformed {
            waiting -= 1
            end(cursor, Outcome(.rejected, reason: .malformedToken))
            cursor += 1
        }
    }

    private func bodySize(of position: Int) -> Int {
        Int(batch.headings[Int(batch.pushes[position].heading)].payload.count)
    }

    // MARK: What happens to pushes in flight

    mutating func end(_ position: Int, _ outcome: Outcome) {
        outcomes[position] = outcome
        unended -= 1
    }

    /// A push that was sent got no answer. The first reason is kept.
    mutating func endUnanswered(_ position: Int, because reason: () -> PushError) {
        if outcomes.unanswered == nil { outcomes.unanswered = reason() }
        end(position, OutcomeRules.outcome(of: .streamEnded(status: 0, isSurelyUnprocessed: false)))
    }

    /// A push came back unprocessed: it is sent again, unless its caller was cancelled.
    ///
    /// - Parameter isRefused: the gateway refused this push on a connection that accepts others. After several refusals, that
    ///   becomes its outcome.
    mutating func takeBack(_ position: Int, isRefused: Bool) {
        if isCancelled {
            endUnsent(position, .cancelled)
        } else if isRefused, !countRefusal(of: position) {
            endUnsent(position, .refused)
        } else {
            returned.append(Int32(position))
            waiting += 1
        }
    }

    /// Returns false once the limit is exceeded.
    private mutating func countRefusal(of position: Int) -> Bool {
        if refusals.isEmpty { refusals = Array(repeating: 0, count: batch.count) }
        guard refusals[position] < Self.refusalLimit else { return false }
        refusals[position] += 1
        return true
    }

    private mutating func endUnsent(_ position: Int, _ reason: UnsentReason) {
        outcomes.note(reason)
        end(position, OutcomeRules.outcome(of: .neverSubmitted))
    }

    mutating func identified(_ position: Int, as uniqueID: PushID) { outcomes.setUniqueID(uniqueID, at: position) }

    /// Lets an answer keep the text of its reason in the outcomes.
    mutating func read(_ answer: (inout Outcomes) -> Outcome) -> Outcome { answer(&outcomes) }

    // MARK: What happens to the delivery

    /// Waiting pushes end unsent, and pushes in flight are not sent again.
    mutating func cancel() {
        isCancelled = true
        if waiting > 0 { giveUp(.cancelled) }
    }

    /// Waiting pushes end unsent.
    mutating func giveUp(_ reason: UnsentReason) {
        while let positions = take(.max, in: .unlimited) {
            for position in positions { endUnsent(position, reason) }
        }
    }

    /// Whether the caller now gets the outcomes so far. If there are none, the interval starts again.
    mutating func returnsEarly(at now: MonotonicInstant) -> Bool {
        guard let returnInterval, now >= returnDue else { return false }
        let hasOutcomes = unended < batch.count
        returnDue = hasOutcomes ? .distantFuture : now + returnInterval
        return hasOutcomes
    }
}

extension Outcomes {
    fileprivate mutating func note(_ reason: UnsentReason) {
        switch reason {
        case .noConnection(let failure): connectFailure = failure
        case .withheld(let failure): withheld = failure
        }
    }
}
