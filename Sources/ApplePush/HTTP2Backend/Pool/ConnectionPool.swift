import HTTP2
import IO
import TLS

/// The connections to one gateway with one credential, all on one loop: takes batches, spreads them over connections,
/// makes and closes those. A batch comes down by one hop and goes back by one; what happens between is synchronous.
///
/// Here is what comes from outside, and the pump that hands pushes to connections; how those are made, looked after and
/// authorized is in files of their own.
actor ConnectionPool {
    let loop: EventLoop
    let gateway: Gateway
    /// As it was handed in last: of equal ones, that one is sure to have somebody yet who supplies it with tokens.
    private(set) var credential: Credential
    let configuration: HTTP2Configuration
    let meter: TrafficMeter
    let deliveries: DeliveryQueue
    var state: State
    var connections: [PushConnection] = []
    var watches: [Int: WatchToken] = [:]
    var dials: [Int: Task<Void, Never>] = [:]
    var context: TLSContext?
    var addresses = AddressBook<SocketAddress>()
    var authorizations = Authorizations()
    var renewal: Task<Void, Never>?
    /// An answer has shown that the gateway accepts the credential.
    var isAccepted = false
    var input: [UInt8] = []
    var random = SystemRandomNumberGenerator()
    private(set) var isShutDown = false
    private var isOutdated = false
    private var isPumpDue = false
    private var tick: (token: TimerToken, due: MonotonicInstant)?
    private var nextSerial = 0
    /// Those who wait for a connection and have handed nothing over yet.
    private var preparing: [CheckedContinuation<Bool, Never>] = []
    private var preparingEnd: TimerToken?

    /// The pushes by which a gateway judges a certificate that it has not accepted yet.
    static let certificateTrial = 8

    /// The pool owns the loop's reference, so the loop outlives every use of this.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe self.loop.asUnownedSerialExecutor() }

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
        self.deliveries = DeliveryQueue(waitingTimeout: configuration.waitingTimeout)
        self.state = State(limit: configuration.connections)
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
        self.nextSerial += 1
        let serial = self.nextSerial
        let cancel: @Sendable () -> Void = {
            withExtendedLifetime(owner) { self.cancel(serial) }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { completion in
                // Looked at here and not above: between the two, somebody else may have been on the loop.
                if self.isOutdated { return completion.resume(returning: nil) }
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
                self.deliveries.add(delivery)
                if self.isShutDown { self.giveUpWaiting(Self.shutDownError) }
                // The handler below may have come before the delivery, and found nothing.
                if Task.isCancelled { self.deliveries.cancel(serial) }
                self.pumpSoon()
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
                if self.isOutdated { return continuation.resume(returning: false) }
                self.credential = credential
                if self.isShutDown || Task.isCancelled { return continuation.resume(returning: true) }
                self.preparing.append(continuation)
                if self.preparingEnd == nil {
                    self.preparingEnd = self.loop.schedule(at: .now + self.configuration.waitingTimeout) {
                        self.assumeIsolated { $0.endPreparing() }
                    }
                }
                self.pumpSoon()
            }
        } onCancel: {
            cancel()
        }
    }

    /// One of those who prepare has gone. The others need not know who: they lose nothing by going on.
    private nonisolated func cancelPreparing() {
        self.loop.submit { self.assumeIsolated { $0.endPreparing() } }
    }

    private func endPreparing() {
        if let end = self.preparingEnd.take() { self.loop.cancel(end) }
        let preparing = self.preparing
        self.preparing = []
        for continuation in preparing { continuation.resume(returning: true) }
    }

    /// How many pushes wait for a connection, or will be there as soon as there is one.
    var expected: Int { self.deliveries.waiting + (self.preparing.isEmpty ? 0 : 1) }

    /// Whoever wanted that delivery has gone: nothing more of it is sent.
    private nonisolated func cancel(_ serial: Int) {
        self.loop.submit { self.assumeIsolated { $0.deliveries.cancel(serial) } }
    }

    /// Closes what has been idle for longer than that. True if nothing is left, not even something under way: then the
    /// pool takes no more.
    func outdate(idle: Duration) -> Bool {
        let now = MonotonicInstant.now
        self.close(self.state.idle(longerThan: idle, at: now), .idle, at: now)
        self.isOutdated = self.state.members.isEmpty && self.deliveries.isEmpty && self.preparing.isEmpty
        return self.isOutdated
    }

    /// Ends everything at once.
    func shutdown() async {
        self.isShutDown = true
        self.close(self.connections.map(\.id), .shutDown, at: .now)
        self.giveUpWaiting(Self.shutDownError)
        if let tick = self.tick.take() { self.loop.cancel(tick.token) }
        // Whoever supplies a provider token may take as long as they like: nobody waits for it any more.
        self.renewal?.cancel()
        let dials = Array(self.dials.values)
        for dial in dials { dial.cancel() }
        for dial in dials { await dial.value }
    }

    static let shutDownError = PushError(.shutDown, "The session was shut down: make a new one to send more.")

    // MARK: Sending

    /// Has the pump run once, after everything else of this turn of the loop: what many brought is written together.
    func pumpSoon() {
        if self.isPumpDue { return }
        self.isPumpDue = true
        self.loop.atEndOfTurn { self.assumeIsolated { $0.pump() } }
    }

    /// Gives waiting pushes to connections that have room, writes, and makes another connection where there is none.
    private func pump() {
        self.isPumpDue = false
        var now = MonotonicInstant.now
        self.deliveries.checkPermits(at: now)
        while self.deliveries.waiting > 0, self.mayAuthorize(at: now) {
            let shares = self.state.shares(of: self.deliveries.waiting)
            if shares.isEmpty { break }
            for (id, count) in shares {
                guard let connection = self.connection(id) else { continue }
                connection.submit(count, at: now)
                connection.flush(at: now)
                self.look(at: connection, at: now)
                // Writing took its time.
                now = .now
                self.deliveries.checkPermits(at: now)
            }
        }
        for connection in self.connections where connection.wantsToWrite {
            connection.flush(at: now)
            self.look(at: connection, at: now)
        }
        if !self.preparing.isEmpty, self.mayAuthorize(at: now), self.state.hasRoom { self.endPreparing() }
        self.setTick(at: now, dialing: self.dialIfNeeded(at: now))
    }

    func giveUpWaiting(_ failure: PushError) {
        self.deliveries.giveUp(.unconnected(failure)) { _ in true }
        self.endPreparing()
    }

    // MARK: Time

    /// One timer for all that is measured here: it comes round when the first thing is due, whatever that is.
    private func setTick(at now: MonotonicInstant, dialing: MonotonicInstant?) {
        if self.isShutDown { return }
        var due = self.deliveries.nextDue
        for connection in self.connections { due = min(due, connection.due) }
        if let idle = self.state.nextIdle(after: self.configuration.idleTimeout) { due = min(due, idle) }
        if let spare = self.state.nextSpare { due = min(due, spare) }
        // What is due one after the other is seen to together.
        due = min(max(due + .milliseconds(1), now + self.configuration.tickInterval), dialing ?? .distantFuture)
        if due == .distantFuture { return }
        if let tick = self.tick {
            if tick.due <= due { return }
            self.loop.cancel(tick.token)
        }
        self.tick = (self.loop.schedule(at: due) { self.assumeIsolated { $0.passed() } }, due)
    }

    private func passed() {
        self.tick = nil
        let now = MonotonicInstant.now
        for connection in self.connections {
            connection.passed(to: now)
            self.look(at: connection, at: now)
        }
        self.deliveries.passed(to: now)
        self.close(self.state.idle(longerThan: self.configuration.idleTimeout, at: now), .idle, at: now)
        if self.deliveries.waiting == 0, let spare = self.state.spare { self.retire([spare], .spare, at: now) }
        self.pumpSoon()
    }
}
