import CarillonIO

/// The conversation of the legacy binary protocol. A `SentWindow` determines the outcomes of sent pushes.
final class BinaryConversation: Conversation {
    private(set) var life: ConnectionLife
    private let deliveries: DeliveryQueue
    private let wire: BinaryWire
    /// What was known of the gateway at the beginning.
    private let begin: WindowSize
    private var limit: Int
    private var window = SentWindow()
    /// The output; the bytes from `drained` on have not been drained.
    private var output: [UInt8] = []
    private var drained = 0
    private var answer: [UInt8] = []
    private var lastSubmission = MonotonicInstant.distantFuture
    /// When the answer to the barrier is due.
    private var barrierEnd = MonotonicInstant.distantFuture
    private let usesBarriers: Bool
    private(set) var isAccepted = false
    private(set) var refuted = 0

    init(of wire: BinaryWire, sending deliveries: DeliveryQueue, maximumAge: Duration) {
        self.wire = wire
        begin = wire.window.withLock(\.self)
        limit = begin.count
        usesBarriers = begin.usesBarriers && wire.configuration.format.hasIdentifiers
        self.deliveries = deliveries
        life = ConnectionLife(writeTimeout: wire.configuration.writeTimeout, maximumAge: maximumAge)
    }

    private var configuration: BinaryConfiguration { wire.configuration }

    // MARK: Room

    var room: ConnectionStatus.Room {
        let limit = life.isReady ? self.limit : 0
        return ConnectionStatus.Room(free: max(0, limit - window.count), inFlight: window.count, capacity: limit)
    }

    /// A gateway that refuses the certificate has processed nothing, so there is no need to start with few pushes.
    var isProven: Bool { life.isReady }

    var due: MonotonicInstant {
        let quietEnd = window.quietEnd(after: configuration.quietPeriod) ?? .distantFuture
        return min(life.due, awaitsArrival ? lastSubmission : quietEnd, barrierDue, barrierEnd)
    }

    private var barrierDue: MonotonicInstant {
        guard usesBarriers, life.isReady else { return .distantFuture }
        if room.free == 0 { return lastSubmission }
        return window.count >= configuration.barrierCount ? lastSubmission + configuration.barrierAfter : .distantFuture
    }

    // MARK: What is sent

    func connected(at now: MonotonicInstant) {
        life.connected(at: now)
        life.opened()
    }

    func submit(_ count: Int, at now: MonotonicInstant) -> Bool {
        let free = room.free
        var left = min(count, free)
        lastSubmission = now
        while left > 0 {
            guard let run = deliveries.next(left, in: .unlimited) else { return false }
            for position in run.positions { submit(position, of: run) }
            left -= run.positions.count
        }
        return count < free
    }

    private func submit(_ position: Int, of run: DeliveryQueue.Run) {
        let push = run.push(at: position)
        let format = configuration.format
        guard run.batch.pushType(of: position) != .channel else {
            return deliveries.end(push, Outcome(.rejected, reason: Reason(name: "InvalidPushType") ?? .none))
        }
        if let length = format.append(position, of: run.batch, identifier: window.next, to: &output) {
            window.append(push, length: length)
        } else {
            deliveries.end(push, Outcome(.rejected, reason: Reason(name: "PayloadTooLarge") ?? .none))
        }
    }

    private func sendBarrier() {
        guard let length = configuration.format.appendBarrier(identifier: window.next, to: &output) else { return }
        window.appendBarrier(length: length)
        life.retire(.barrier)
    }

    var wantsToWrite: Bool { drained < output.count }

    func drain(into output: inout [UInt8], limit: Int) throws(ConnectionEnd) {
        let count = min(limit - output.count, self.output.count - drained)
        guard count > 0 else { return }
        self.output.withSpan(drained..<drained + count) { output.append(copying: $0) }
        drained += count
        guard drained == self.output.count else { return }
        self.output.removeAll(keepingCapacity: true)
        drained = 0
    }

    func sent(_ count: Int) { window.wrote(count) }

    func wrote(isStalled: Bool, at now: MonotonicInstant) { life.wrote(isStalled: isStalled, at: now) }

    var awaitsArrival: Bool { window.awaitsArrival }

    func arrived(allBut count: Int, at now: MonotonicInstant) {
        window.arrived(allBut: count, at: now)
        if window.hasBarrier, window.hasArrived { barrierEnd = now + configuration.barrierTimeout }
    }

    // MARK: What is received

    func received(_ bytes: RawSpan, at now: MonotonicInstant) {
        let missing = BinaryAnswer.length - answer.count
        for offset in bytes.byteOffsets.prefix(missing) { answer.append(bytes[byte: offset]) }
        guard answer.count == BinaryAnswer.length else { return }
        guard let answer = BinaryAnswer(self.answer) else {
            refuted = life.answered
            return life.close(.notBinary)
        }
        refuted = window.refuted(by: answer)
        let fates = window.answered(answer)
        if refuted > 0 {
            wire.window.withLock { $0.refuted() }
        } else if fates.unknown.isEmpty {
            wire.window.withLock { $0.proved() }
        }
        endPushes(fates, refused: answer.outcome, at: now)
        life.close(answer.isShutdown ? .gatewayShutDown : .refusedPush)
    }

    // MARK: Time and the end

    func passed(to now: MonotonicInstant) {
        life.passed(to: now)
        if now >= barrierEnd {
            barrierEnd = .distantFuture
            window.ignoredBarrier()
            wire.window.withLock { $0.ignoredBarrier() }
        }
        endQuiet(at: now)
        if window.count == 0, window.hasBarrier { life.close(.barrier) }
        if now >= barrierDue { sendBarrier() }
    }

    private func endQuiet(at now: MonotonicInstant) {
        let isFull = life.isReady && window.count >= limit
        let pushes = window.stayedQuiet(for: configuration.quietPeriod, at: now)
        // No barrier will tell how far the gateway has got. Without identifiers, no error does either.
        if isFull, !usesBarriers, configuration.format.hasIdentifiers, !pushes.isEmpty {
            limit = wire.window.withLock { size in
                size.stayedQuiet(after: pushes.count)
                return size.count
            }
        }
        deliver(pushes, at: now)
    }

    func retire(_ end: ConnectionEnd) { life.retire(end) }

    func end(_ end: ConnectionEnd) -> [UInt8] {
        life.close(end)
        // Not answered, and perhaps taken for an error of ours.
        if window.hasBarrier, window.count > 0 { wire.window.withLock { $0.closedOnBarrier(since: begin) } }
        let now = MonotonicInstant.now
        // A certificate may also be refused later, for example once it has been revoked. Then the gateway has already processed
        // pushes.
        let hasProcessedNothing = end.kind == .refused && !isAccepted
        endPushes(hasProcessedNothing ? window.unprocessed() : window.closed(), refused: Outcome(.unknown), at: now)
        return []
    }

    // MARK: Outcomes

    private func endPushes(_ fates: SentWindow.Fates, refused outcome: Outcome, at now: MonotonicInstant) {
        deliver(fates.accepted, at: now)
        if let push = fates.refused {
            life.wasAnswered(isOfUse: true)
            isAccepted = true
            deliveries.answered(at: now)
            deliveries.end(push, outcome)
        }
        if !fates.unknown.isEmpty { wire.window.withLock { $0.lost() } }
        for push in fates.unknown {
            deliveries.endUnanswered(push, because: (life.end ?? .closedByPeer).unanswered)
        }
        for push in fates.unprocessed { deliveries.takeBack(push) }
    }

    private func deliver(_ pushes: ArraySlice<QueuedPush>, at now: MonotonicInstant) {
        guard !pushes.isEmpty else { return }
        isAccepted = true
        deliveries.answered(at: now)
        for push in pushes {
            life.wasAnswered(isOfUse: true)
            deliveries.end(push, .accepted)
        }
    }
}
