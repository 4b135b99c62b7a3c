import IO

/// The deliveries of a pool, first come, first served. Confined to the pool's loop, as its connections are.
final class DeliveryQueue {
    /// By number; a number is free again once the delivery is done.
    private var deliveries: [Delivery?] = []
    private var free: [Int32] = []
    /// Those with pushes that wait, in the order they came.
    private var line: [Int32] = []

    /// How many of the deliveries have a permit.
    private var permits = 0

    /// None of them has to be looked at before that: a lower bound, so that an end or a longer permit costs nothing.
    private(set) var nextDue = MonotonicInstant.distantFuture

    /// How many pushes the gateway takes at a time, so far as is known: told to those whose delivery returns.
    var capacity: Int?

    /// How many pushes wait for a connection to take them.
    private(set) var waiting = 0

    /// Whether every push has had its outcome.
    var isEmpty: Bool { self.free.count == self.deliveries.count }

    subscript(number: Int32) -> Delivery {
        guard let delivery = self.deliveries[Int(number)] else {
            preconditionFailure("A push outlived its delivery.")
        }
        return delivery
    }

    func add(_ delivery: Delivery) {
        let number = self.free.popLast() ?? Int32(self.deliveries.count)
        if Int(number) == self.deliveries.count { self.deliveries.append(nil) }
        self.deliveries[Int(number)] = delivery
        self.line.append(number)
        delivery.isInLine = true
        self.waiting += delivery.waiting
        if delivery.permit != nil { self.permits += 1 }
        self.nextDue = min(self.nextDue, delivery.due)
    }

    /// Takes the push that is next in line.
    func next() -> InFlightTable.Push? {
        while let number = self.line.first {
            let delivery = self[number]
            let before = delivery.waiting
            let position = delivery.next()
            self.waiting -= before - delivery.waiting
            if let position { return InFlightTable.Push(delivery: number, position: Int32(position)) }
            self.line.removeFirst()
            delivery.isInLine = false
            self.finishIfDone(number)
        }
        return nil
    }

    /// A push that was taken has its outcome.
    func end(_ push: InFlightTable.Push, _ outcome: Outcome) {
        self[push.delivery].end(Int(push.position), outcome)
        self.finishIfDone(push.delivery)
    }

    /// What an answer means for a push that was taken, with the words of reasons kept where its caller finds them.
    func outcome(for push: InFlightTable.Push, _ read: (inout Outcomes) -> Outcome) -> Outcome {
        self[push.delivery].read(read)
    }

    /// A push that was taken came back, through no fault of its own: it goes out again first of all.
    func takeBack(_ push: InFlightTable.Push) {
        self[push.delivery].takeBack(Int(push.position))
        self.goAgain(push)
    }

    /// A push that was taken was refused: it goes out again first of all, unless that has happened too often.
    func takeBack(_ push: InFlightTable.Push, orEnd outcome: Outcome) {
        guard self[push.delivery].takeBackRefused(Int(push.position)) else { return self.end(push, outcome) }
        self.goAgain(push)
    }

    private func goAgain(_ push: InFlightTable.Push) {
        self.waiting += 1
        let delivery = self[push.delivery]
        if delivery.isInLine { return }
        delivery.isInLine = true
        self.line.insert(push.delivery, at: 0)
        self.nextDue = min(self.nextDue, delivery.due)
    }

    /// What waits and has run out of time, or whose caller has gone, ends unsent.
    func giveUp(_ failure: PushError? = nil, where isOver: (Delivery) -> Bool) {
        for number in self.line where isOver(self[number]) {
            let delivery = self[number]
            self.waiting -= delivery.waiting
            delivery.giveUpWaiting(failure)
            self.leaveLine(number)
            self.finishIfDone(number)
        }
    }

    /// What waits and must not be sent any more ends unsent.
    func checkPermits(at now: MonotonicInstant) {
        if self.permits == 0 { return }
        self.giveUp { $0.permit?.allows(at: now) == false }
    }

    /// Time has passed: what waits may have run out of it, permits may be over, and the patience of callers.
    func passed(to now: MonotonicInstant) {
        self.giveUp { now >= $0.deadline }
        self.checkPermits(at: now)
        self.nextDue = .distantFuture
        for case let delivery? in self.deliveries {
            delivery.returnEarly(at: now, capacity: self.capacity)
            self.nextDue = min(self.nextDue, delivery.due)
        }
    }

    private func finishIfDone(_ number: Int32) {
        guard self[number].finishIfDone(capacity: self.capacity) else { return }
        if self[number].permit != nil { self.permits -= 1 }
        self.leaveLine(number)
        self.deliveries[Int(number)] = nil
        self.free.append(number)
    }

    private func leaveLine(_ number: Int32) {
        guard self[number].isInLine else { return }
        self[number].isInLine = false
        self.line.removeAll { $0 == number }
    }
}
