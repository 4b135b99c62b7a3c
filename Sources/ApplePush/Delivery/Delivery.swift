import CarillonIO

/// A batch on its way, as a value: events come in by its methods, and outcomes add up.
///
/// Each of its pushes waits for a connection, is in flight, or has ended. A push in flight waits again if its connection
/// returns it unprocessed. A waiting push ends unsent if no connection can be made or takes it in time, if its permit ends,
/// or if its caller is cancelled.
struct Delivery {
    enum State {
        /// Some of its pushes wait: it takes turns with other deliveries.
        case waiting
        /// Those that have not ended are in flight.
        case inFlight
        case ended
    }

    /// How often a push may be refused by itself before that is its outcome.
    private static let refusalLimit: UInt8 = 5

    /// Unique in its pool.
    let serial: Int
    let batch: PushBatch
    let permit: SendingPermit?
    let arrived: MonotonicInstant
    /// After how long the caller gets the outcomes that there are.
    private let returnInterval: Duration?
    /// When that is; far in the future once it has them.
    private(set) var returnDue = MonotonicInstant.distantFuture
    private(set) var outcomes: Outcomes
    /// The first push that was never taken. It is never malformed.
    private var cursor = 0
    /// Pushes that came back, to be sent before all others.
    private var returned: ArraySlice<Int32> = []
    /// How often each push was refused; empty until one is.
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
        // Zero would be over again at once, and so on.
        returnInterval = terms.returnAfter.map { max($0, .milliseconds(1)) }
        let count = batch.count
        outcomes = Outcomes(repeating: .pending, count: count)
        unended = count
        waiting = count
        if let returnInterval { returnDue = now + returnInterval }
        skipMalformed()
    }

    var state: State { waiting > 0 ? .waiting : unended > 0 ? .inFlight : .ended }

    /// Until when its pushes may wait. While the gateway answers others, they only wait for their turn.
    func deadline(lastAnswer: MonotonicInstant, waiting limit: Duration) -> MonotonicInstant {
        max(arrived, lastAnswer) + limit
    }

    // MARK: Taking pushes

    /// The size of the next push's body; nil if none waits.
    var nextSize: Int? { nextPosition.map { bodySize(of: $0) } }

    private var nextPosition: Int? {
        if let first = returned.first { return Int(first) }
        return cursor < batch.count ? cursor : nil
    }

    /// Takes up to this many pushes of one message, as far as there is room for their bodies. Nil if none waits, or there is no
    /// room for the next one.
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

    /// A push that was sent has no answer. The first reason stays.
    mutating func endUnanswered(_ position: Int, because reason: () -> PushError) {
        if outcomes.unanswered == nil { outcomes.unanswered = reason() }
        end(position, OutcomeRules.outcome(of: .streamEnded(isSurelyUnprocessed: false)))
    }

    /// A push came back unprocessed: it is sent again, unless its caller was cancelled.
    ///
    /// - Parameter isRefused: the gateway refused this push, on a connection that takes others. After several times, that is
    ///   its outcome.
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

    /// False if it was one too many.
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

    /// What waits ends unsent, and what is in flight is not sent again.
    mutating func cancel() {
        isCancelled = true
        if waiting > 0 { giveUp(.cancelled) }
    }

    /// What waits ends unsent.
    mutating func giveUp(_ reason: UnsentReason) {
        while let positions = take(.max, in: .unlimited) {
            for position in positions { endUnsent(position, reason) }
        }
    }

    /// Whether the caller is to get the outcomes that there are. If there are none, it waits for as long again.
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
