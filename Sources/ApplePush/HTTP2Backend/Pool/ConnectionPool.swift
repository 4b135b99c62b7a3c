import HTTP2
import IO
import TLS

/// The connections to one gateway with one credential, all on one loop: takes batches, spreads them over connections,
/// makes and closes those. A batch comes down by one hop and goes back by one; what happens between is synchronous.
///
/// What to do is decided by `PoolState`; here it is done. A connection is touched by `change` alone, which tells the state
/// what became of it and does what the state asks for, so nothing can happen to one unnoticed.
actor ConnectionPool {
    let loop: EventLoop
    let gateway: Gateway
    /// As it was handed in last: of equal ones, that one is sure to have somebody yet who supplies it with tokens.
    private(set) var credential: Credential
    let configuration: HTTP2Configuration
    let meter: TrafficMeter
    let deliveries: DeliveryQueue
    private var state: PoolState<SystemRandomNumberGenerator>
    private var connections: [PushConnection] = []
    var watches: [Int: WatchToken] = [:]
    var dials: [Int: Task<Void, Never>] = [:]
    var context: TLSContext?
    var addresses = AddressBook<SocketAddress>()
    private var tokenFetch: Task<Void, Never>?
    private var input: [UInt8] = []
    private var isPumpDue = false
    /// The pump itself sees to what happens while it runs.
    private var isPumping = false
    private var tick: (token: TimerToken, due: MonotonicInstant)?
    private var nextSerial = 0
    /// Those who wait for a connection and have handed nothing over yet.
    private var preparing: [CheckedContinuation<Bool, Never>] = []
    private var preparingEnd: TimerToken?

    /// The pool owns the loop's reference, so the loop outlives every use of this.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(
        to gateway: Gateway,
        with credential: Credential,
        _ configuration: HTTP2Configuration,
        meter: TrafficMeter,
        on loop: EventLoop
    ) {
        self.gateway = gateway
        self.credential = credential
        self.configuration = configuration
        self.meter = meter
        self.loop = loop
        deliveries = DeliveryQueue(waitingTimeout: configuration.waitingTimeout)
        state = PoolState(
            to: gateway,
            usesTokens: credential.identity == nil,
            connections: configuration.connections,
            idleTimeout: configuration.idleTimeout,
            random: SystemRandomNumberGenerator()
        )
    }

    // MARK: From outside

    /// Sends a batch. Every push of it ends exactly once. Nil, and nothing sent, if the pool was outdated before.
    ///
    /// The owner lives on until the last push has ended: with it end the threads that all of this is done on.
    func deliver(
        _ batch: PushBatch,
        with credential: Credential,
        _ terms: DeliveryTerms,
        for owner: HTTP2Backend
    ) async -> Delivered? {
        nextSerial += 1
        let serial = nextSerial
        let cancel: @Sendable () -> Void = {
            withExtendedLifetime(owner) { self.cancel(serial) }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { completion in
                // Looked at here and not above: between the two, somebody else may have been on the loop.
                if state.isOutdated { return completion.resume(returning: nil) }
                self.credential = credential
                let now = MonotonicInstant.now
                let delivery = Delivery(
                    serial,
                    batch,
                    terms,
                    from: now,
                    completion: completion,
                    onCancel: cancel
                )
                deliveries.add(delivery)
                // The handler below may have come before the delivery, and found nothing.
                if Task.isCancelled { deliveries.cancel(serial) }
                state.deliveryAdded()
                settle(at: now)
            }
        } onCancel: {
            cancel()
        }
    }

    /// Returns when a push could be sent at once, when no connection is to be had for now, or after the time for which a
    /// push may wait for one. False if the pool was outdated before.
    func prepare(with credential: Credential, for owner: HTTP2Backend) async -> Bool {
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
                    preparingEnd = loop.schedule(at: .now + configuration.waitingTimeout) {
                        self.assumeIsolated { $0.preparationEnded() }
                    }
                }
                settle(at: .now)
            }
        } onCancel: {
            cancel()
        }
    }

    /// One of those who prepare has gone. The others need not know who: they lose nothing by going on.
    private nonisolated func cancelPreparing() {
        loop.submit { self.assumeIsolated { $0.preparationEnded() } }
    }

    private func preparationEnded() {
        state.preparationEnded()
        settle(at: .now)
    }

    private func endPreparing() {
        if let end = preparingEnd.take() { loop.cancel(end) }
        let preparing = self.preparing
        self.preparing = []
        for continuation in preparing { continuation.resume(returning: true) }
    }

    /// Whoever wanted that delivery has gone: nothing more of it is sent.
    private nonisolated func cancel(_ serial: Int) {
        loop.submit { self.assumeIsolated { $0.cancelled(serial) } }
    }

    private func cancelled(_ serial: Int) {
        deliveries.cancel(serial)
        // With nothing left to wait for, an idle connection may be of no more use.
        settle(at: .now)
    }

    /// Closes what has been idle for longer than that. True if nothing is left, not even something under way: then the
    /// pool takes no more.
    func outdate(idle: Duration) -> Bool {
        let now = MonotonicInstant.now
        state.idled(for: idle, at: now)
        settle(at: now)
        return state.outdated(hasDeliveries: !deliveries.isEmpty)
    }

    /// The credential was replaced.
    func retireAll() {
        state.credentialReplaced(waiting: deliveries.waiting)
        settle(at: .now)
    }

    /// Ends everything at once.
    func shutdown() async {
        state.shutDown()
        settle(at: .now)
        if let tick = self.tick.take() { loop.cancel(tick.token) }
        // Whoever supplies a provider token may take as long as they like: nobody waits for it any more.
        tokenFetch?.cancel()
        let dials = Array(self.dials.values)
        for dial in dials { dial.cancel() }
        for dial in dials { await dial.value }
    }

    // MARK: What happens, and what follows from it

    /// Does something to a connection, or tells it what happened. The only way to touch one: whatever becomes of it, the
    /// state learns of it, and what follows is done before this returns.
    func change(_ id: Int, at now: MonotonicInstant, _ body: (PushConnection) -> Void) {
        guard let connection = connections.first(where: { $0.id == id }) else { return }
        body(connection)
        if let failure = connection.writeFailure {
            // What can still be read may say why.
            _ = read(connection, at: now)
            connection.end(failure)
        }
        connection.conversation.tell(meter)
        let sighting = connection.sighting
        if !sighting.isClosed, let watch = watches[id] { connection.updateInterest(of: watch, on: loop) }
        state.changed(id, to: sighting, waiting: deliveries.waiting, at: now)
        settle(at: now)
    }

    /// Whether that connection is there yet.
    func isDialing(_ id: Int) -> Bool { connections.contains { $0.id == id } }

    /// The socket of a connection is ready for that.
    func ready(_ id: Int, _ interest: Interest) {
        let now = MonotonicInstant.now
        change(id, at: now) { connection in
            if interest.contains(.write) { connection.hasRoom(at: now) }
            if read(connection, at: now) {
                loop.submit { self.assumeIsolated { $0.ready(id, .read) } }
            }
        }
    }

    /// True if there may be more to read.
    private func read(_ connection: PushConnection, at now: MonotonicInstant) -> Bool {
        if input.isEmpty { input = Array(repeating: 0, count: 16_384) }
        return connection.read(into: &input, at: now)
    }

    /// Does what the state asks for after something happened, and has the pump look after the rest.
    private func settle(at now: MonotonicInstant) {
        deliveries.capacity = state.capacity
        while let action = state.nextAction() { perform(action, at: now) }
        pumpSoon()
    }

    private func perform(_ action: PoolState<SystemRandomNumberGenerator>.Action, at now: MonotonicInstant) {
        switch action {
        case .dial(let id, let terms): dial(id, terms, at: now)
        case .retire(let id, let end): change(id, at: now) { $0.retire(end) }
        case .end(let id, let end): change(id, at: now) { $0.end(end) }
        case .forget(let id, let end): forget(id, end, at: now)
        case .giveUpWaiting(let failure): deliveries.giveUp(.unconnected(failure)) { _ in true }
        case .endPreparing: endPreparing()
        case .fetchToken(let refused): fetchToken(refusing: refused)
        case .authorize(let authorization):
            for connection in connections { connection.conversation.authorize(authorization) }
        }
    }

    private func dial(_ id: Int, _ terms: DialTerms, at now: MonotonicInstant) {
        do {
            connections.append(PushConnection(id, try conversation(terms, at: now)))
            dials[id] = Task {
                await dial(id)
                dials[id] = nil
            }
        } catch {
            state.failedToBegin(id, PushError(connectingTo: gateway, error), at: now)
        }
    }

    private func forget(_ id: Int, _ end: ConnectionEnd, at now: MonotonicInstant) {
        guard let place = connections.firstIndex(where: { $0.id == id }) else { return }
        let connection = connections.remove(at: place)
        let watch = watches.removeValue(forKey: id)
        if let watch { loop.cancel(watch) }
        meter.ended(end, wasOpen: watch != nil)
        guard let address = connection.address else { return }
        let answered = connection.life.answered
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
                state.tokenCame(authorization, for: .seconds(tokens.secondsToRenewal(of: token)))
            } catch {
                state.tokenFailed(error, at: .now)
            }
            tokenFetch = nil
            settle(at: .now)
        }
    }

    // MARK: Sending

    /// Has the pump run once, after everything else of this turn of the loop: what many brought is written together.
    private func pumpSoon() {
        if isPumpDue || isPumping { return }
        isPumpDue = true
        loop.atEndOfTurn { self.assumeIsolated { $0.pump() } }
    }

    /// Gives waiting pushes to connections that have room, writes, and makes another connection where there is none.
    private func pump() {
        isPumpDue = false
        isPumping = true
        var now = MonotonicInstant.now
        deliveries.checkPermits(at: now)
        while let share = state.nextShare(of: deliveries.waiting, at: now) {
            change(share.id, at: now) { connection in
                connection.submit(share.count, at: now)
                connection.flush(at: now)
            }
            // Writing took its time.
            now = .now
            deliveries.checkPermits(at: now)
        }
        for connection in connections where connection.wantsToWrite {
            change(connection.id, at: now) { $0.flush(at: now) }
        }
        state.spread(left: deliveries.waiting, at: now)
        settle(at: now)
        isPumping = false
        setTick(at: now)
    }

    // MARK: Time

    /// One timer for all that is measured here: it comes round when the first thing is due, whatever that is.
    private func setTick(at now: MonotonicInstant) {
        if state.isShutDown { return }
        var due = min(deliveries.nextDue, state.due)
        for connection in connections { due = min(due, connection.due) }
        // What is due one after the other is seen to together.
        due = max(due + .milliseconds(1), now + configuration.tickInterval)
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
        for connection in connections { change(connection.id, at: now) { $0.passed(to: now) } }
        deliveries.passed(to: now)
        state.passed(to: now, waiting: deliveries.waiting)
        settle(at: now)
    }
}
