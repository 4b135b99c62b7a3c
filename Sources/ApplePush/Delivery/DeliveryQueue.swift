import IO

/// The deliveries of a pool, which take turns. Confined to the pool's loop, as its connections are.
final class DeliveryQueue {
    /// By number; a number is free again once the delivery is done.
    private var deliveries: [Delivery?] = []
    private var free: [Int32] = []
    private var numbers: [Int: Int32] = [:]
    /// Those with pushes that wait.
    private var line = TurnLine()
    /// How long pushes wait for a connection while the gateway answers nothing.
    private let waitingTimeout: Duration
    private var lastAnswer = MonotonicInstant(nanoseconds: 0)

    /// The permits of the deliveries. As a rule all have the same, so that one look at it is enough.
    private var permits = PermitCounts()

    /// None of them has to be looked at before that: a lower bound, so that an end or a longer permit costs nothing.
    private(set) var nextDue = MonotonicInstant.distantFuture

    /// How many pushes the gateway takes at a time, so far as is known: told to those whose delivery returns.
    var capacity: Int?

    /// How many pushes wait for a connection to take them.
    private(set) var waiting = 0

    /// Whether every push has had its outcome.
    var isEmpty: Bool { free.count == deliveries.count }

    init(waitingTimeout: Duration) { self.waitingTimeout = waitingTimeout }

    subscript(number: Int32) -> Delivery {
        guard let delivery = deliveries[Int(number)] else {
            preconditionFailure("A push outlived its delivery.")
        }
        return delivery
    }

    func add(_ delivery: Delivery) {
        // Where no token is one there is nothing to wait for.
        if delivery.upcoming() == nil {
            _ = delivery.finishIfDone(capacity: capacity)
            return
        }
        let number = free.popLast() ?? Int32(deliveries.count)
        if Int(number) == deliveries.count { deliveries.append(nil) }
        deliveries[Int(number)] = delivery
        numbers[delivery.serial] = number
        line.join(number)
        waiting += delivery.waiting
        if let permit = delivery.permit { permits.add(permit) }
        nextDue = min(nextDue, due(number))
    }

    /// When a delivery must be looked at next, if nothing happens to it before.
    private func due(_ number: Int32) -> MonotonicInstant {
        let delivery = self[number]
        guard line.contains(number) else { return delivery.returnDue }
        let deadline = delivery.deadline(lastAnswer: lastAnswer, waiting: waitingTimeout)
        return min(delivery.returnDue, deadline, delivery.permit?.end ?? .distantFuture)
    }

    /// How many bytes the body of the push has that is next in line; nil if none waits.
    var upcoming: Int? { nextSize() }

    private func nextSize() -> Int? {
        while let number = line.first {
            let delivery = self[number]
            let before = delivery.waiting
            let size = delivery.upcoming()
            waiting -= before - delivery.waiting
            if let size { return size }
            line.leave(number)
            finishIfDone(number)
        }
        return nil
    }

    /// Takes the pushes that are next in line: as many as that, as there is room for, and as may be taken at a turn.
    func next(_ count: Int, in room: BodyRoom) -> DeliveryRun? {
        while let number = line.first {
            let delivery = self[number]
            let before = delivery.waiting
            let next = delivery.next(min(count, line.turn), in: room)
            let after = delivery.waiting
            waiting -= before - after
            switch next {
            case .run(let positions):
                line.took(positions.count)
                if after == 0 { line.leave(number) }
                return DeliveryRun(number: number, delivery: delivery, positions: positions)
            case .tooLarge: return nil
            case .none:
                line.leave(number)
                finishIfDone(number)
            }
        }
        return nil
    }

    /// The gateway has answered a push: what waits only waits for its turn.
    func answered(at now: MonotonicInstant) { lastAnswer = now }

    /// A push that was taken has its outcome.
    func end(_ push: QueuedPush, _ outcome: Outcome) {
        self[push.delivery].end(Int(push.position), outcome)
        finishIfDone(push.delivery)
    }

    /// What an answer means for a push that was taken, with the words of reasons kept where its caller finds them.
    func outcome(for push: QueuedPush, _ read: (inout Outcomes) -> Outcome) -> Outcome {
        self[push.delivery].read(read)
    }

    /// A push that was taken came back, through no fault of its own: it goes out again first of all, unless its caller has
    /// gone.
    func takeBack(_ push: QueuedPush) {
        let delivery = self[push.delivery]
        if delivery.isCancelled { return endCancelled(push) }
        delivery.takeBack(Int(push.position))
        goAgain(push)
    }

    private func endCancelled(_ push: QueuedPush) {
        self[push.delivery].note(.cancelled)
        end(push, OutcomeRules.outcome(of: .streamEnded(isSurelyUnprocessed: true)))
    }

    /// A push that was taken was refused: it goes out again first of all, unless that has happened too often.
    func takeBack(_ push: QueuedPush, orEnd outcome: Outcome) {
        let delivery = self[push.delivery]
        if delivery.isCancelled { return endCancelled(push) }
        guard delivery.takeBackRefused(Int(push.position)) else {
            if outcome.verdict == .safe { delivery.note(.refused) }
            return end(push, outcome)
        }
        goAgain(push)
    }

    private func goAgain(_ push: QueuedPush) {
        waiting += 1
        if line.contains(push.delivery) { return }
        line.rejoin(push.delivery)
        nextDue = min(nextDue, due(push.delivery))
    }

    /// What waits and has run out of time ends unsent.
    func giveUp(_ end: WaitingEnd, where isOver: (Delivery) -> Bool) {
        var place = line.head
        while let number = place {
            place = line.after(number)
            if isOver(self[number]) { giveUp(number, end) }
        }
    }

    /// The caller of that delivery has gone: what waits of it ends unsent, and what is in flight does not go out again.
    func cancel(_ serial: Int) {
        guard let number = numbers[serial] else { return }
        self[number].cancel()
        if line.contains(number) { giveUp(number, .cancelled) }
    }

    private func giveUp(_ number: Int32, _ end: WaitingEnd) {
        let delivery = self[number]
        waiting -= delivery.waiting
        delivery.giveUpWaiting(end)
        line.leave(number)
        finishIfDone(number)
    }

    /// What waits and must not be sent any more ends unsent.
    func checkPermits(at now: MonotonicInstant) {
        if permits.allAllow(at: now) { return }
        giveUp(.notPermitted) { $0.permit?.allows(at: now) == false }
    }

    /// Time has passed: what waits may have run out of it, permits may be over, and the patience of callers.
    func passed(to now: MonotonicInstant) {
        giveUp(.late) { now >= $0.deadline(lastAnswer: lastAnswer, waiting: waitingTimeout) }
        checkPermits(at: now)
        nextDue = .distantFuture
        for number in deliveries.indices {
            guard let delivery = deliveries[number] else { continue }
            delivery.returnEarly(at: now, capacity: capacity)
            nextDue = min(nextDue, due(Int32(number)))
        }
    }

    private func finishIfDone(_ number: Int32) {
        let delivery = self[number]
        guard delivery.finishIfDone(capacity: capacity) else { return }
        if let permit = delivery.permit { permits.remove(permit) }
        line.leave(number)
        numbers[delivery.serial] = nil
        deliveries[Int(number)] = nil
        free.append(number)
    }
}
