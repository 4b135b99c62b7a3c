import CarillonIO
import CarillonTLS

/// The connections to one gateway with one credential, all on one loop. A batch arrives with one hop and returns with one;
/// everything in between is synchronous.
///
/// `PoolState` decides what to do, and the pool does it. Whatever happens to a connection goes through `change`: it reports the
/// result to the state and performs the actions that the state requests, so no event is missed. Only a new authorization is
/// passed to all connections without it.
actor ConnectionPool {
    /// The limits of a pool, whatever protocol its connections speak.
    struct Limits {
        var connections: Int
        /// Whether there is only one connection, which is not replaced, and no push waits for room.
        var isSingle: Bool
        /// How long connecting to one of the gateway's addresses may take.
        var connectTimeout: Duration
        var handshakeTimeout: Duration
        /// How long the peer's kernel may take to acknowledge bytes.
        var unacknowledgedTimeout: Duration
        var idleTimeout: Duration
        /// How long a push may wait for a connection while the gateway does not answer.
        var waitingTimeout: Duration
        /// The shortest interval between checks of time limits.
        var tickInterval: Duration
    }

    let loop: EventLoop
    let gateway: Gateway
    /// The credential that was passed last. Earlier, equal ones may have other suppliers of provider tokens, which may be gone.
    private(set) var credential: Credential
    let wire: any Wire
    let limits: Limits
    let meter: TrafficMeter
    let observer: (any APNs.Observer)?
    let deliveries: DeliveryQueue
    private var state: PoolState
    private var connections: [PushConnection] = []
    var watches: [Int: WatchToken] = [:]
    private var dials: [Int: Task<Void, Never>] = [:]
    var context: TLSContext?
    var addresses = AddressBook()
    private var tokenFetch: Task<Void, Never>?
    private var input: [UInt8] = []
    private var isPumpDue = false
    /// Whether the pump is running, so that events need not schedule another run.
    private var isPumping = false
    private var tick: (token: TimerToken, due: MonotonicInstant)?
    private var nextSerial = 0
    /// Callers of `prepare`.
    private var preparing: [CheckedContinuation<Bool, Never>] = []
    private var preparingEnd: TimerToken?

    /// Safe, because the pool keeps the loop alive.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(
        to gateway: Gateway,
        with credential: Credential,
        _ wire: any Wire,
        _ limits: Limits,
        meter: TrafficMeter,
        observer: (any APNs.Observer)?,
        on loop: EventLoop
    ) {
        self.gateway = gateway
        self.credential = credential
        self.wire = wire
        self.limits = limits
        self.meter = meter
        self.observer = observer
        self.loop = loop
        deliveries = DeliveryQueue(waitingTimeout: limits.waitingTimeout)
        if let observer {
            deliveries.onEnd = { outcomes, duration in
                observer.deliveryEnded(APNs.EndedDelivery(gateway: gateway, duration: duration, outcomes: outcomes))
            }
        }
        let usesTokens = credential.identity == nil
        state = PoolState(to: gateway, usesTokens: usesTokens, limits, seed: .random(in: .min ... .max))
    }

    // MARK: From outside

    /// Sends a batch. Each of its pushes ends exactly once. Returns nil, and sends nothing, if the pool has already been outdated.
    ///
    /// - Parameter owner: kept alive until the last push has ended, because it owns the threads.
    func deliver(
        _ batch: PushBatch,
        with credential: Credential,
        _ terms: DeliveryTerms,
        for owner: any AnyObject & Sendable
    ) async -> Delivered? {
        nextSerial += 1
        let serial = nextSerial
        let cancel: @Sendable () -> Void = {
            withExtendedLifetime(owner) { self.cancel(serial) }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { completion in
                // Checked here, because other work may have run on the loop since the call.
                if state.isOutdated { return completion.resume(returning: nil) }
                self.credential = credential
                let now = MonotonicInstant.now
                deliveries.add(Delivery(serial, batch, terms, at: now), onCancel: cancel) { delivered in
                    completion.resume(returning: delivered)
                }
                // The handler below may have run before the delivery was added.
                if Task.isCancelled { deliveries.cancel(serial) }
                state.deliveryAdded()
                performActions(at: now)
            }
        } onCancel: {
            cancel()
        }
    }

    /// Returns when a push could be sent at once, when no connection can be opened, or after the time that a push may wait for one.
    /// Returns false if the pool has already been outdated.
    func prepare(with credential: Credential, for owner: any AnyObject & Sendable) async -> Bool {
        let cancel: @Sendable () -> Void = {
            withExtendedLifetime(owner) { self.cancelPreparing() }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if state.isOutdated { return continuation.resume(returning: false) }
                self.credential = credential
                if Task.isCancelled || !state.preparationBegan() { return continuation.resume(returning: true) }
                preparing.append(continuation)
                if preparingEnd == nil {
                    preparingEnd = loop.schedule(at: .now + limits.waitingTimeout) {
                        self.assumeIsolated { $0.preparationEnded() }
                    }
                }
                performActions(at: .now)
            }
        } onCancel: {
            cancel()
        }
    }

    /// One caller of `prepare` was cancelled. All callers return; the others lose nothing.
    private nonisolated func cancelPreparing() {
        loop.submit { self.assumeIsolated { $0.preparationEnded() } }
    }

    private func preparationEnded() {
        state.preparationEnded()
        performActions(at: .now)
    }

    private func endPreparing() {
        if let end = preparingEnd.take() { loop.cancel(end) }
        let preparing = self.preparing
        self.preparing = []
        for continuation in preparing { continuation.resume(returning: true) }
    }

    /// Sends nothing more of this delivery.
    private nonisolated func cancel(_ serial: Int) {
        loop.submit { self.assumeIsolated { $0.cancelled(serial) } }
    }

    private func cancelled(_ serial: Int) {
        deliveries.cancel(serial)
        // An idle connection may no longer be needed.
        performActions(at: .now)
    }

    /// Closes connections that have been idle for longer than this. Returns true if nothing is left in the pool; it then accepts no
    /// more deliveries.
    func outdate(idle: Duration) -> Bool {
        let now = MonotonicInstant.now
        state.idled(for: idle, at: now)
        performActions(at: now)
        return state.outdated(hasDeliveries: !deliveries.isEmpty)
    }

    func credentialReplaced() {
        state.credentialReplaced(waiting: deliveries.waiting)
        performActions(at: .now)
    }

    func shutdown() async {
        state.shutDown()
        performActions(at: .now)
        if let tick = self.tick.take() { loop.cancel(tick.token) }
        // Do not wait for a supplier of provider tokens, which may take any time.
        tokenFetch?.cancel()
        let dials = Array(self.dials.values)
        for dial in dials { dial.cancel() }
        for dial in dials { await dial.value }
    }

    // MARK: What happens, and what follows from it

    /// Changes a connection or tells it about an event, reports its new status to the state, and performs the resulting actions
    /// before returning.
    func change(_ id: Int, at now: MonotonicInstant, _ body: (PushConnection) -> Void) {
        guard let connection = connections.first(where: { $0.id == id }) else { return }
        body(connection)
        if let failure = connection.writeFailure {
            // The gateway may have sent the reason.
            read(connection, at: now)
            connection.end(failure)
        }
        connection.conversation.addAnswers(to: meter)
        let status = connection.status
        if !connection.isClosed, let watch = watches[id] { connection.updateInterest(of: watch, on: loop) }
        state.changed(id, to: status, waiting: deliveries.waiting, at: now)
        performActions(at: now)
    }

    func isDialing(_ id: Int) -> Bool { connections.contains { $0.id == id } }

    func ready(_ id: Int, _ interest: Interest) {
        let now = MonotonicInstant.now
        change(id, at: now) { connection in
            if interest.contains(.write) { connection.hasRoom(at: now) }
            read(connection, at: now)
        }
    }

    private func read(_ connection: PushConnection, at now: MonotonicInstant) {
        if input.isEmpty { input = Array(repeating: 0, count: 16_384) }
        let id = connection.id
        let mayHaveMore = connection.read(into: &input, at: now)
        if mayHaveMore { loop.submit { self.assumeIsolated { $0.ready(id, .read) } } }
    }

    /// Performs the actions that the state requests, and schedules the pump.
    private func performActions(at now: MonotonicInstant) {
        deliveries.capacity = state.capacity
        while let action = state.nextAction() { perform(action, at: now) }
        pumpSoon()
    }

    private func perform(_ action: PoolState.Action, at now: MonotonicInstant) {
        switch action {
        case .dial(let id, let terms): dial(id, terms, at: now)
        case .retire(let id, let end): change(id, at: now) { $0.conversation.retire(end) }
        case .end(let id, let end): change(id, at: now) { $0.end(end) }
        case .forget(let id, let end): forget(id, end, at: now)
        case .giveUpWaiting(let failure): deliveries.giveUp(.noConnection(failure))
        case .endPreparing: endPreparing()
        case .fetchToken(let refused): fetchToken(refusing: refused)
        case .authorize(let authorization):
            for connection in connections { connection.conversation.authorize(authorization) }
        }
    }

    private func dial(_ id: Int, _ terms: ConversationTerms, at now: MonotonicInstant) {
        do {
            connections.append(PushConnection(id, try wire.conversation(terms, sending: deliveries, at: now)))
            dials[id] = Task {
                await dial(id)
                dials[id] = nil
            }
        } catch {
            state.failedToBegin(id, PushError(connectingTo: gateway, error), at: now)
        }
    }

    private func forget(_ id: Int, _ end: ConnectionEnd, at now: MonotonicInstant) {
        guard let index = connections.firstIndex(where: { $0.id == id }) else { return }
        let connection = connections.remove(at: index)
        let watch = watches.removeValue(forKey: id)
        if let watch { loop.cancel(watch) }
        meter.ended(end, wasOpen: watch != nil)
        let answered = connection.conversation.life.answered
        observer?.connectionEnded(
            APNs.EndedConnection(
                gateway: gateway,
                wasOpen: watch != nil,
                answered: answered,
                refuted: connection.conversation.refuted,
                reason: end.name,
                error: end.kind == .ours ? nil : end.error(of: gateway)
            )
        )
        guard let address = connection.address else { return }
        if end.isAddressAtFault(answered: answered) {
            addresses.failed([address], at: now)
        } else if answered > 0 {
            addresses.worked(address)
        }
    }

    private func fetchToken(refusing refused: ProviderToken?) {
        guard case .providerToken(let tokens) = credential.kind else { return }
        tokenFetch = Task {
            do throws(PushError) {
                let token = try await tokens.current(refusing: refused)
                let authorization = Authorization(token: token, isRenewed: refused != nil, since: .now)
                state.tokenFetched(authorization, for: .seconds(tokens.secondsToRenewal(of: token)))
            } catch {
                state.tokenFailed(error, at: .now)
            }
            tokenFetch = nil
            performActions(at: .now)
        }
    }

    // MARK: Sending

    /// Runs the pump once at the end of this iteration of the loop, so that the pushes of many deliveries are written together.
    private func pumpSoon() {
        if isPumpDue || isPumping { return }
        isPumpDue = true
        loop.atEndOfIteration { self.assumeIsolated { $0.pump() } }
    }

    /// Gives waiting pushes to connections with room, writes, and opens another connection if needed.
    private func pump() {
        isPumpDue = false
        isPumping = true
        var now = MonotonicInstant.now
        deliveries.checkPermits(at: now)
        while let allotment = state.nextAllotment(of: deliveries.waiting, at: now) {
            change(allotment.id, at: now) { connection in
                connection.submit(allotment.count, at: now)
                connection.flush(at: now)
            }
            now = .now  // Writing takes time.
            deliveries.checkPermits(at: now)
        }
        for connection in connections where connection.wantsToWrite {
            change(connection.id, at: now) { $0.flush(at: now) }
        }
        state.spread(left: deliveries.waiting, at: now)
        performActions(at: now)
        isPumping = false
        setTick(at: now)
    }

    // MARK: Time

    /// One timer serves all time limits of the pool.
    private func setTick(at now: MonotonicInstant) {
        if state.isShutDown { return }
        var due = min(deliveries.nextDue, state.due)
        for connection in connections { due = min(due, connection.conversation.due) }
        // Combine everything that is due within one interval.
        due = max(due + .milliseconds(1), now + limits.tickInterval)
        due = min(due, state.dialDue ?? .distantFuture)
        if due == .distantFuture { return }
        if let tick = self.tick {
            if tick.due <= due { return }
            loop.cancel(tick.token)
        }
        self.tick = (loop.schedule(at: due) { self.assumeIsolated { $0.passed() } }, due)
    }

    private func passed() {
        tick = nil
        let now = MonotonicInstant.now
        for connection in connections {
            change(connection.id, at: now) { connection in
                // If this process was stopped for a while, bytes that arrived in time may still be unread.
                read(connection, at: now)
                connection.passed(to: now)
            }
        }
        deliveries.passed(to: now)
        state.passed(to: now, waiting: deliveries.waiting)
        performActions(at: now)
    }
}
