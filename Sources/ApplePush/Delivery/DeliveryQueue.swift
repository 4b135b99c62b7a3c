import CarillonIO

/// The deliveries of a pool, served a quantum of pushes at a time. Confined to the pool's loop, like its connections.
final class DeliveryQueue {
    /// Pushes of one delivery and one message that a connection takes at once.
    struct Run {
        let number: Int32
        let serial: Int
        let batch: PushBatch
        let positions: Range<Int>

        func push(at position: Int) -> QueuedPush { QueuedPush(delivery: number, position: Int32(position)) }
    }

    private struct Entry {
        var delivery: Delivery
        /// Nil once it has been called.
        var complete: ((Delivered) -> Void)?
        let onCancel: @Sendable () -> Void
        /// The remainder that the caller got with the early outcomes.
        var remainder: Remainder?

        /// The entry of a free number: an ended delivery without pushes.
        static var empty: Self {
            let nothing = Delivery(0, PushBatch(), DeliveryTerms(), at: .distantFuture)
            return Self(delivery: nothing, onCancel: {})
        }
    }

    /// The entries by number. A number is free again once its delivery has ended.
    private var entries: [Entry] = []
    private var free: [Int32] = []
    private var numbers: [Int: Int32] = [:]
    /// The deliveries in state `waiting`.
    private var order = DeliveryOrder()
    private var permits = PermitCounts()
    /// How long pushes wait for a connection while the gateway does not answer.
    private let waitingTimeout: Duration
    private var lastAnswer = MonotonicInstant(nanoseconds: 0)

    /// When `passed` must be called. It is a lower bound, so that it need not be recomputed when a delivery ends or a permit is
    /// extended.
    private(set) var nextDue = MonotonicInstant.distantFuture

    /// Called when a delivery has ended completely, with its outcomes and its duration.
    var onEnd: ((Outcomes, Duration) -> Void)?

    /// How many pushes the gateway accepts at a time, if known. It is returned with each delivery.
    var capacity: Int?

    /// Pushes that wait for a connection.
    private(set) var waiting = 0

    var isEmpty: Bool { free.count == entries.count }

    init(waitingTimeout: Duration) { self.waitingTimeout = waitingTimeout }

    /// - Parameters:
    ///   - onCancel: called when a task that waits for the remainder is cancelled.
    ///   - complete: called once, with all outcomes or with those so far.
    func add(
        _ delivery: Delivery,
        onCancel: @escaping @Sendable () -> Void,
        complete: @escaping (Delivered) -> Void
    ) {
        if delivery.state == .ended {
            onEnd?(delivery.outcomes, .zero)
            return complete(Delivered(delivery.outcomes, capacity: capacity))
        }
        let entry = Entry(delivery: delivery, complete: complete, onCancel: onCancel)
        let number = free.popLast() ?? Int32(entries.count)
        if Int(number) == entries.count { entries.append(entry) } else { entries[Int(number)] = entry }
        numbers[delivery.serial] = number
        if let permit = delivery.permit { permits.add(permit) }
        waiting += delivery.waiting
        order.join(number)
        nextDue = min(nextDue, due(number))
    }

    // MARK: Sending

    /// The body size of the push that is next in line; nil if no push is waiting.
    var nextSize: Int? { order.first.flatMap { entries[Int($0)].delivery.nextSize } }

    /// Takes up to `count` pushes that are next in line, as far as there is room for them and the quantum allows.
    func next(_ count: Int, in room: BodyRoom) -> Run? {
        guard let number = order.first else { return nil }
        return update(number) { delivery in
            guard let positions = delivery.take(min(count, order.quantum), in: room) else { return nil }
            order.took(positions.count)
            return Run(number: number, serial: delivery.serial, batch: delivery.batch, positions: positions)
        }
    }

    /// The gateway has answered a push, so waiting pushes only wait for others.
    func answered(at now: MonotonicInstant) { lastAnswer = now }

    func end(_ push: QueuedPush, _ outcome: Outcome) {
        let index = Int(push.delivery)
        entries[index].delivery.end(Int(push.position), outcome)
        if entries[index].delivery.state == .ended { finish(push.delivery) }
    }

    /// A push that was sent got no answer.
    func endUnanswered(_ push: QueuedPush, because reason: @autoclosure () -> PushError) {
        let index = Int(push.delivery)
        entries[index].delivery.endUnanswered(Int(push.position), because: reason)
        if entries[index].delivery.state == .ended { finish(push.delivery) }
    }

    /// The sandbox has given a push its own identity.
    func identified(_ push: QueuedPush, as uniqueID: PushID) {
        entries[Int(push.delivery)].delivery.identified(Int(push.position), as: uniqueID)
    }

    /// The outcome that an answer means for a push. The text of its reason is kept in the outcomes.
    func outcome(for push: QueuedPush, _ read: (inout Outcomes) -> Outcome) -> Outcome {
        update(push.delivery) { $0.read(read) }
    }

    /// A push came back unprocessed.
    ///
    /// - Parameter isRefused: the gateway refused this push on a connection that accepts others.
    func takeBack(_ push: QueuedPush, isRefused: Bool = false) {
        update(push.delivery) { $0.takeBack(Int(push.position), isRefused: isRefused) }
    }

    // MARK: Ending what waits

    func cancel(_ serial: Int) {
        if let number = numbers[serial] { update(number) { $0.cancel() } }
    }

    /// Waiting pushes of these deliveries end unsent.
    func giveUp(_ reason: UnsentReason, where isOver: (Delivery) -> Bool = { _ in true }) {
        var place = order.head
        while let number = place {
            place = order.after(number)
            if isOver(entries[Int(number)].delivery) { update(number) { $0.giveUp(reason) } }
        }
    }

    func checkPermits(at now: MonotonicInstant) {
        if permits.allAllow(at: now) { return }
        giveUp(.notPermitted) { $0.permit?.allows(at: now) == false }
    }

    func passed(to now: MonotonicInstant) {
        giveUp(.late) { now >= $0.deadline(lastAnswer: lastAnswer, waiting: waitingTimeout) }
        checkPermits(at: now)
        nextDue = .distantFuture
        for index in entries.indices where entries[index].delivery.state != .ended {
            if entries[index].delivery.returnsEarly(at: now) { returnEarly(index) }
            nextDue = min(nextDue, due(Int32(index)))
        }
    }

    // MARK: What follows

    /// Applies an event to a delivery, and acts on its new state.
    @discardableResult
    private func update<R>(_ number: Int32, _ event: (inout Delivery) -> R) -> R {
        let index = Int(number)
        let before = entries[index].delivery.waiting
        let result = event(&entries[index].delivery)
        waiting += entries[index].delivery.waiting - before
        switch entries[index].delivery.state {
        case .waiting:
            if order.contains(number) { break }
            order.rejoin(number)
            nextDue = min(nextDue, due(number))
        case .inFlight: order.leave(number)
        case .ended: finish(number)
        }
        return result
    }

    /// When a delivery next needs `passed`, if nothing happens to it before.
    private func due(_ number: Int32) -> MonotonicInstant {
        let delivery = entries[Int(number)].delivery
        guard delivery.state == .waiting else { return delivery.returnDue }
        let deadline = delivery.deadline(lastAnswer: lastAnswer, waiting: waitingTimeout)
        return min(delivery.returnDue, deadline, delivery.permit?.end ?? .distantFuture)
    }

    private func returnEarly(_ index: Int) {
        let remainder = Remainder(onCancel: entries[index].onCancel)
        entries[index].remainder = remainder
        let outcomes = entries[index].delivery.outcomes
        entries[index].complete.take()?(Delivered(outcomes, remainder: remainder, capacity: capacity))
    }

    private func finish(_ number: Int32) {
        order.leave(number)
        let entry = entries[Int(number)]
        entries[Int(number)] = .empty
        numbers[entry.delivery.serial] = nil
        free.append(number)
        if let permit = entry.delivery.permit { permits.remove(permit) }
        onEnd?(entry.delivery.outcomes, .now - entry.delivery.arrived)
        entry.complete?(Delivered(entry.delivery.outcomes, capacity: capacity))
        entry.remainder?.end(with: entry.delivery.outcomes)
    }
}

/// The permits of the deliveries. Usually all have the same one, so that one check is enough.
private struct PermitCounts {
    private var entries: [ObjectIdentifier: (permit: SendingPermit, count: Int)] = [:]

    mutating func add(_ permit: SendingPermit) {
        entries[ObjectIdentifier(permit), default: (permit, 0)].count += 1
    }

    mutating func remove(_ permit: SendingPermit) {
        let key = ObjectIdentifier(permit)
        entries[key]?.count -= 1
        if entries[key]?.count == 0 { entries[key] = nil }
    }

    func allAllow(at now: MonotonicInstant) -> Bool { entries.values.allSatisfy { $0.permit.allows(at: now) } }
}
