import HTTP2
import IO
import TLS

/// The connections to one gateway with one credential, all on one loop: takes batches, spreads them over connections,
/// makes and closes those. A batch comes down by one hop and goes back by one; what happens between is synchronous.
actor ConnectionPool {
    private let loop: EventLoop
    private let gateway: Gateway
    private let credential: Credential
    private let configuration: HTTP2Configuration
    private let meter: TrafficMeter
    private var state: State
    private var connections: [PushConnection] = []
    private var watches: [Int: WatchToken] = [:]
    private var dials: [Int: Task<Void, Never>] = [:]
    private let deliveries = DeliveryQueue()
    private var context: TLSContext?
    private var authorization: Authorization?
    private var authorizationDue: MonotonicInstant?
    private var renewal: Task<Void, Never>?
    private var tick: (token: TimerToken, due: MonotonicInstant)?
    private var input: [UInt8] = []
    private var random = SystemRandomNumberGenerator()
    private var isPumpDue = false
    private var isOutdated = false
    private var isShutDown = false
    private var nextSerial = 0

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
        self.state = State(limit: configuration.connections)
    }

    // MARK: From outside

    /// Sends a batch. Every push of it ends exactly once. Nil, and nothing sent, if the pool was outdated before.
    ///
    /// The owner lives on until the last push has ended: with it end the threads that all of this is done on.
    func deliver(_ batch: PushBatch, _ terms: DeliveryTerms, for owner: HTTP2Backend) async -> Delivered? {
        if self.isOutdated { return nil }
        self.nextSerial += 1
        let serial = self.nextSerial
        let cancel: @Sendable () -> Void = {
            withExtendedLifetime(owner) { self.cancel(serial) }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { completion in
                let now = MonotonicInstant.now
                let delivery = Delivery(
                    serial,
                    batch,
                    terms,
                    from: now,
                    until: now + self.configuration.waitingTimeout,
                    completion: completion,
                    onCancel: cancel
                )
                self.deliveries.add(delivery)
                if self.isShutDown { self.giveUpWaiting(Self.shutDownError) }
                self.pumpSoon()
            }
        } onCancel: {
            cancel()
        }
    }

    /// Whoever wanted that delivery has gone: nothing more of it is sent.
    private nonisolated func cancel(_ serial: Int) {
        self.loop.submit { self.assumeIsolated { $0.deliveries.giveUp { $0.serial == serial } } }
    }

    /// Closes what has been idle for longer than that. True if nothing is left, not even something under way: then the
    /// pool takes no more.
    func outdate(idle: Duration) -> Bool {
        let now = MonotonicInstant.now
        self.close(self.state.idle(longerThan: idle, at: now), .idle, at: now)
        self.isOutdated = self.state.members.isEmpty && self.deliveries.isEmpty
        return self.isOutdated
    }

    /// Ends everything at once.
    func shutdown() async {
        self.isShutDown = true
        self.close(self.connections.map(\.id), .shutDown, at: .now)
        self.giveUpWaiting(Self.shutDownError)
        if let tick = self.tick.take() { self.loop.cancel(tick.token) }
        let tasks = Array(self.dials.values) + [self.renewal].compactMap { $0 }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    static let shutDownError = PushError(.shutDown, "The session was shut down: make a new one to send more.")

    // MARK: Sending

    /// Has the pump run once, after everything else of this turn of the loop: what many brought is written together.
    private func pumpSoon() {
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
                guard let connection = self.connections.first(where: { $0.id == id }) else { continue }
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
        self.dialIfNeeded(at: now)
        self.setTick(at: now)
    }

    private func dialIfNeeded(at now: MonotonicInstant) {
        guard !self.isShutDown, case .now(let id) = self.state.dial(waiting: self.deliveries.waiting, at: now)
        else { return }
        self.dials[id] = Task {
            await self.dial(id)
            self.dials[id] = nil
        }
    }

    private func dial(_ id: Int) async {
        do {
            let context = try self.context ?? self.makeContext()
            self.context = context
            let stream = try await TLSStream.connect(
                host: self.gateway.host,
                port: self.gateway.port,
                context: context,
                connectTimeout: self.configuration.connectTimeout,
                handshakeTimeout: self.configuration.handshakeTimeout,
                on: self.loop
            )
            // Much may have happened meanwhile; the state is read anew from here on.
            if self.isShutDown { return self.dialFailed(id, Self.shutDownError) }
            try self.open(id, stream)
        } catch {
            self.dialFailed(id, PushError(connectingTo: self.gateway, error))
        }
    }

    private func makeContext() throws(TLSError) -> TLSContext {
        try TLSContext.client(
            identity: self.credential.identity,
            trust: self.gateway.trust.roots,
            alpn: ["h2"]
        )
    }

    private func open(_ id: Int, _ stream: consuming TLSStream) throws {
        let now = MonotonicInstant.now
        let connection = try PushConnection(
            id,
            stream,
            authority: self.gateway.authority,
            certified: self.credential.identity != nil,
            authorization: self.authorization,
            deliveries: self.deliveries,
            limits: self.configuration.limits,
            at: now
        )
        guard let descriptor = connection.descriptor else { return }
        self.watches[id] = try self.loop.watch(descriptor, for: .read) { interest in
            self.assumeIsolated { $0.ready(id, interest) }
        }
        self.connections.append(connection)
        self.meter.opened()
        // What the server said right after the handshake may have been read with it.
        self.ready(id, .read)
    }

    private func dialFailed(_ id: Int, _ failure: PushError) {
        self.ended(id, wasOfUse: false, failure, at: .now)
        self.pumpSoon()
    }

    // MARK: What happened

    private func ready(_ id: Int, _ interest: Interest) {
        guard let connection = self.connections.first(where: { $0.id == id }) else { return }
        let now = MonotonicInstant.now
        if interest.contains(.write) { connection.hasRoom() }
        if self.read(connection, at: now) {
            self.loop.submit { self.assumeIsolated { $0.ready(id, .read) } }
        }
        self.look(at: connection, at: now)
        self.pumpSoon()
    }

    /// True if there may be more to read.
    private func read(_ connection: PushConnection, at now: MonotonicInstant) -> Bool {
        if self.input.isEmpty { self.input = Array(repeating: 0, count: 16_384) }
        return connection.read(into: &self.input, at: now)
    }

    /// Takes note of what a connection has become.
    private func look(at connection: PushConnection, at now: MonotonicInstant) {
        let id = connection.id
        connection.report(to: self.meter)
        if let failure = connection.writeFailure {
            _ = self.read(connection, at: now)
            connection.end(failure)
        }
        if let token = connection.refusedToken { self.renewToken(refusing: token) }
        if connection.life.isRefused, case .draining(let end) = connection.life.phase {
            self.giveUpWaiting(PushError(end, of: self.gateway))
        }
        if case .draining = connection.life.phase, connection.inFlightCount == 0 { connection.end(.usedUp) }
        if case .closed(let end) = connection.life.phase {
            guard let place = self.connections.firstIndex(where: { $0 === connection }) else { return }
            self.connections.remove(at: place)
            self.meter.closed()
            if let watch = self.watches.removeValue(forKey: id) { self.loop.cancel(watch) }
            let wasOfUse = connection.life.answered > 0 || end == .idle
            return self.ended(id, wasOfUse: wasOfUse, PushError(end, of: self.gateway), at: now)
        }
        let phase: State.Phase
        switch connection.life.phase {
        case .connecting, .handshaking: phase = .dialing
        case .ready: phase = connection.isProven ? .ready : .proving
        case .draining, .closed: phase = .draining
        }
        self.state.changed(id, to: phase, free: connection.free, inFlight: connection.inFlightCount, at: now)
        if let watch = self.watches[id] { connection.updateInterest(of: watch, on: self.loop) }
    }

    private func ended(_ id: Int, wasOfUse: Bool, _ failure: PushError, at now: MonotonicInstant) {
        self.state.ended(id, wasOfUse: wasOfUse, at: now, using: &self.random)
        if !wasOfUse, !self.state.hasHope { self.giveUpWaiting(failure) }
    }

    private func giveUpWaiting(_ failure: PushError) { self.deliveries.giveUp(failure) { _ in true } }

    private func close(_ ids: [Int], _ end: ConnectionLife.End, at now: MonotonicInstant) {
        for connection in self.connections where ids.contains(connection.id) {
            connection.end(end)
            self.look(at: connection, at: now)
        }
    }

    // MARK: Time

    /// One timer for all that is measured here. While pushes wait or fly it comes round often enough for their
    /// deadlines; with nothing to do, only when a connection has been idle for long enough.
    private func setTick(at now: MonotonicInstant) {
        let due: MonotonicInstant
        if !self.deliveries.isEmpty || self.connections.contains(where: { !$0.life.isReady }) {
            due = min(now + self.configuration.tickInterval, self.deliveries.nextDue)
        } else if let idle = self.state.nextIdle(after: self.configuration.idleTimeout) {
            due = idle + .milliseconds(1)
        } else {
            return
        }
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
            connection.passed(to: now, requestTimeout: self.configuration.requestTimeout)
            self.look(at: connection, at: now)
        }
        self.deliveries.giveUp { now >= $0.deadline }
        self.deliveries.passed(to: now)
        self.close(self.state.idle(longerThan: self.configuration.idleTimeout, at: now), .idle, at: now)
        self.pumpSoon()
    }

    // MARK: Provider tokens

    /// Whether pushes may be sent: with a certificate always, else with a token that is good. One that is due for
    /// renewal is good for some minutes more.
    private func mayAuthorize(at now: MonotonicInstant) -> Bool {
        guard case .providerToken = self.credential.kind else { return true }
        guard let due = self.authorizationDue, now < due else {
            self.renewToken(refusing: nil)
            return self.authorization != nil
        }
        return true
    }

    private func renewToken(refusing refused: ProviderToken?) {
        guard self.renewal == nil, !self.isShutDown, case .providerToken(let tokens) = self.credential.kind else {
            return
        }
        if let refused {
            // Another connection may have said so before, and it was replaced already.
            guard refused == self.authorization?.token, self.authorization?.isRenewed == false else { return }
            self.authorization = nil
            self.authorizationDue = nil
        }
        self.renewal = Task {
            do throws(PushError) {
                let token = try await tokens.current(refusing: refused)
                self.adopt(token, from: tokens, isRenewed: refused != nil)
            } catch {
                self.renewalFailed(error)
            }
            self.renewal = nil
            self.pumpSoon()
        }
    }

    private func adopt(_ token: ProviderToken, from tokens: ProviderTokens, isRenewed: Bool) {
        let authorization = Authorization(token: token, isRenewed: isRenewed)
        self.authorization = authorization
        self.authorizationDue = .now + .seconds(max(1, tokens.secondsToRenewal(of: token)))
        for connection in self.connections { connection.authorize(authorization) }
    }

    /// A token in use stays in use, and renewing it is tried again soon.
    private func renewalFailed(_ error: PushError) {
        if self.authorization == nil {
            self.giveUpWaiting(error)
        } else {
            self.authorizationDue = .now + .seconds(5)
        }
    }
}
