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
    var isEmpty: Bool { self.free.count == self.deliveries.count }

    init(waitingTimeout: Duration) { self.waitingTimeout = waitingTimeout }

    subscript(number: Int32) -> Delivery {
        guard let delivery = self.deliveries[Int(number)] else {
            preconditionFailure("A push outlived its delivery.")
        }
        return delivery
    }

    func add(_ delivery: Delivery) {
        // Where no token is one there is nothing to wait for.
        if delivery.upcoming() == nil {
            _ = delivery.finishIfDone(capacity: self.capacity)
            return
        }
        let number = self.free.popLast() ?? Int32(self.deliveries.count)
        if Int(number) == self.deliveries.count { self.deliveries.append(nil) }
        self.deliveries[Int(number)] = delivery
        self.numbers[delivery.serial] = number
        self.line.join(number)
        self.waiting += delivery.waiting
        if let permit = delivery.permit { self.permits.add(permit) }
        self.nextDue = min(self.nextDue, self.due(number))
    }

    /// When a delivery must be looked at next, if nothing happens to it before.
    private func due(_ number: Int32) -> MonotonicInstant {
        let delivery = self[number]
        guard self.line.contains(number) else { return delivery.returnDue }
        let deadline = delivery.deadline(lastAnswer: self.lastAnswer, waiting: self.waitingTimeout)
        return min(delivery.returnDue, deadline, delivery.permit?.end ?? .distantFuture)
    }

    /// How many bytes the body of the push has that is next in line; nil if none waits.
    func upcoming() -> Int? {
        while let number = self.line.first {
            let delivery = self[number]
            let before = delivery.waiting
            let size = delivery.upcoming()
            self.waiting -= before - delivery.waiting
            if let size { return size }
            self.line.leave(number)
            self.finishIfDone(number)
        }
        return nil
    }

    /// Takes the pushes that are next in line: as many as that, as there is room for, and as may be taken at a turn.
    func next(_ count: Int, in room: BodyRoom) -> DeliveryRun? {
        while let number = self.line.first {
            let delivery = self[number]
            let before = delivery.waiting
            let next = delivery.next(min(count, self.line.turn), in: room)
            let after = delivery.waiting
            self.waiting -= before - after
            switch next {
            case .run(let positions):
                self.line.took(positions.count)
                if after == 0 { self.line.leave(number) }
                return DeliveryRun(number: number, delivery: delivery, positions: positions)
            case .tooLarge: return nil
            case .none:
                self.line.leave(number)
                self.finishIfDone(number)
            }
        }
        return nil
    }

    /// The gateway has answered a push: what waits only waits for its turn.
    func answered(at now: MonotonicInstant) { self.lastAnswer = now }

    /// A push that was taken has its outcome.
    func end(_ push: QueuedPush, _ outcome: Outcome) {
        self[push.delivery].end(Int(push.position), outcome)
        self.finishIfDone(push.delivery)
    }

    /// What an answer means for a push that was taken, with the words of reasons kept where its caller finds them.
    func outcome(for push: QueuedPush, _ read: (inout Outcomes) -> Outcome) -> Outcome {
        self[push.delivery].read(read)
    }

    /// A push that was taken came back, through no fault of its own: it goes out again first of all, unless its caller has
    /// gone.
    func takeBack(_ push: QueuedPush) {
        let delivery = self[push.delivery]
        if delivery.isCancelled { return self.endCancelled(push) }
        delivery.takeBack(Int(push.position))
        self.goAgain(push)
    }

    private func endCancelled(_ push: QueuedPush) {
        self[push.delivery].note(.cancelled)
        self.end(push, OutcomeRules.outcome(of: .streamEnded(isSurelyUnprocessed: true)))
    }

    /// A push that was taken was refused: it goes out again first of all, unless that has happened too often.
    func takeBack(_ push: QueuedPush, orEnd outcome: Outcome) {
        let delivery = self[push.delivery]
        if delivery.isCancelled { return self.endCancelled(push) }
        guard delivery.takeBackRefused(Int(push.position)) else {
            if outcome.verdict == .safe { delivery.note(.refused) }
            return self.end(push, outcome)
        }
        self.goAgain(push)
    }

    private func goAgain(_ push: QueuedPush) {
        self.waiting += 1
        if self.line.contains(push.delivery) { return }
        self.line.rejoin(push.delivery)
        self.nextDue = min(self.nextDue, self.due(push.delivery))
    }

    /// What waits and has run out of time ends unsent.
    func giveUp(_ end: WaitingEnd, where isOver: (Delivery) -> Bool) {
        var place = self.line.head
        while let number = place {
            place = self.line.after(number)
            if isOver(self[number]) { self.giveUp(number, end) }
        }
    }

    /// The caller of that delivery has gone: what waits of it ends unsent, and what is in flight does not go out again.
    func cancel(_ serial: Int) {
        guard let number = self.numbers[serial] else { return }
        self[number].cancel()
        if self.line.contains(number) { self.giveUp(number, .cancelled) }
    }

    private func giveUp(_ number: Int32, _ end: WaitingEnd) {
        let delivery = self[number]
        self.waiting -= delivery.waiting
        delivery.giveUpWaiting(end)
        self.line.leave(number)
        self.finishIfDone(number)
    }

    /// What waits and must not be sent any more ends unsent.
    func checkPermits(at now: MonotonicInstant) {
        if self.permits.allAllow(at: now) { return }
        self.giveUp(.notPermitted) { $0.permit?.allows(at: now) == false }
    }

    /// Time has passed: what waits may have run out of it, permits may be over, and the patience of callers.
    func passed(to now: MonotonicInstant) {
        self.giveUp(.late) { now >= $0.deadline(lastAnswer: self.lastAnswer, waiting: self.waitingTimeout) }
        self.checkPermits(at: now)
        self.nextDue = .distantFuture
        for number in self.deliveries.indices {
            guard let delivery = self.deliveries[number] else { continue }
            delivery.returnEarly(at: now, capacity: self.capacity)
            self.nextDue = min(self.nextDue, self.due(Int32(number)))
        }
    }

    private func finishIfDone(_ number: Int32) {
        let delivery = self[number]
        guard delivery.finishIfDone(capacity: self.capacity) else { return }
        if let permit = delivery.permit { self.permits.remove(permit) }
        self.line.leave(number)
        self.numbers[delivery.serial] = nil
        self.deliveries[Int(number)] = nil
        self.free.append(number)
    }
}
