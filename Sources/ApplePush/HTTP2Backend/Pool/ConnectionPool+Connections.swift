import HTTP2
import IO
import TLS

/// How connections are made, looked after and ended.
extension ConnectionPool {
    func connection(_ id: Int) -> PushConnection? { self.connections.first { $0.id == id } }

    // MARK: Making them

    /// Makes connections where they are needed now; says when to ask again where one is needed later.
    func dialIfNeeded(at now: MonotonicInstant) -> MonotonicInstant? {
        if self.isShutDown { return nil }
        while true {
            switch self.state.dial(waiting: self.expected, at: now, using: &self.random) {
            case .no: return nil
            case .at(let time): return time
            case .now(let id): self.dial(id, at: now)
            }
        }
    }

    private func dial(_ id: Int, at now: MonotonicInstant) {
        do {
            var limits = self.configuration.limits
            limits.age = limits.age * Double.random(in: 1...2, using: &self.random)
            let conversation = try Conversation(
                authority: self.gateway.authority,
                trial: self.trial,
                authorization: self.authorizations.current,
                deliveries: self.deliveries,
                limits: limits,
                requestTimeout: self.configuration.requestTimeout,
                expectancy: self.state.expectancy,
                at: now
            )
            self.connections.append(PushConnection(id, conversation))
        } catch {
            let failure = PushError(connectingTo: self.gateway, error)
            self.state.ended(id, by: .unconnected(failure), answers: nil, at: now, using: &self.random)
            return self.giveUpWaiting(failure)
        }
        self.dials[id] = Task {
            await self.dial(id)
            self.dials[id] = nil
            self.pumpSoon()
        }
    }

    /// How many pushes the next connection may have in flight before the gateway has shown that it accepts the credential;
    /// nil: it has. A certificate is judged once, by few; a provider token on each connection anew, by one, as Apple wants.
    private var trial: Int? {
        guard self.credential.identity != nil else { return 1 }
        return self.isAccepted ? nil : Self.certificateTrial
    }

    private func dial(_ id: Int) async {
        do {
            let context = try self.context ?? self.makeContext()
            self.context = context
            let known = self.addresses
            let line = try await TCP.race(
                host: self.gateway.host,
                port: self.gateway.port,
                timeout: self.configuration.connectTimeout,
                on: self.loop,
                order: { known.ordered($0, at: .now) }
            )
            self.connection(id)?.address = line.address
            self.addresses.failed(line.slower, at: .now)
            let socket = line.takeSocket()
            socket.giveUp(unacknowledgedAfter: self.configuration.writeTimeout + self.configuration.pingTimeout)
            var stream = try TLSStream(client: context, host: self.gateway.host, socket: socket)
            try await stream.shakeHands(until: .now + self.configuration.handshakeTimeout, on: self.loop)
            // Much may have happened meanwhile; the state is read anew from here on.
            try self.open(id, stream)
        } catch {
            let now = MonotonicInstant.now
            self.close([id], .unconnected(PushError(connectingTo: self.gateway, error)), at: now)
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
        guard let connection = self.connection(id) else { return }
        self.watches[id] = try self.loop.watch(stream.descriptor, for: .read) { interest in
            self.assumeIsolated { $0.ready(id, interest) }
        }
        connection.connected(by: stream, at: .now)
        self.meter.opened()
        // What the server said right after the handshake may have been read with it.
        self.ready(id, .read)
    }

    // MARK: What happened to them

    private func ready(_ id: Int, _ interest: Interest) {
        guard let connection = self.connection(id) else { return }
        let now = MonotonicInstant.now
        if interest.contains(.write) { connection.hasRoom(at: now) }
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
    func look(at connection: PushConnection, at now: MonotonicInstant) {
        connection.conversation.tell(self.meter)
        if let failure = connection.writeFailure {
            _ = self.read(connection, at: now)
            connection.end(failure)
        }
        if connection.conversation.isAccepted { self.isAccepted = true }
        if let token = connection.conversation.refusedToken { self.renewToken(refusing: token) }
        let life = connection.life
        if life.isRefused, let end = life.end {
            let failure = PushError(end, of: self.gateway)
            if failure.code == .throttled { self.authorizations.rest(at: now) }
            self.giveUpWaiting(failure)
        }
        let room = connection.room
        if room.inFlight == 0 {
            if case .draining(let end) = life.phase { connection.end(end) }
            if life.isOld, self.deliveries.waiting == 0 { connection.end(.aged) }
        }
        if case .closed(let end) = connection.life.phase { return self.ended(connection, by: end, at: now) }
        self.state.changed(connection.id, to: State.Phase(of: connection), room, at: now)
        if let watch = self.watches[connection.id] { connection.updateInterest(of: watch, on: self.loop) }
        self.deliveries.capacity = self.state.capacity
        let replaced = self.state.replaced
        if !replaced.isEmpty { self.retire(replaced, .aged, at: now) }
    }

    private func ended(_ connection: PushConnection, by end: ConnectionEnd, at now: MonotonicInstant) {
        guard let place = self.connections.firstIndex(where: { $0 === connection }) else { return }
        self.connections.remove(at: place)
        let watch = self.watches.removeValue(forKey: connection.id)
        if let watch { self.loop.cancel(watch) }
        self.meter.ended(end, wasOpen: watch != nil)
        let life = connection.life
        if let address = connection.address {
            if end.isAddressAtFault(answered: life.answered) {
                self.addresses.failed([address], at: now)
            } else if life.answered > 0 {
                self.addresses.worked(address)
            }
        }
        let wasOfUse = end.isOurs || (life.answered > 0 && !life.isRefused && end != .starved)
        let answers = wasOfUse ? life.answered : nil
        self.state.ended(connection.id, by: end, answers: answers, at: now, using: &self.random)
        self.deliveries.capacity = self.state.capacity
        // One who was sent away politely tries once more.
        let isHopeless = !end.isPolite || self.state.pace.failures > 1
        if !wasOfUse, isHopeless, !self.state.hasHope { self.giveUpWaiting(PushError(end, of: self.gateway)) }
    }

    // MARK: Ending them

    /// Has them take no more pushes, and close when they have none.
    func retire(_ ids: [Int], _ end: ConnectionEnd, at now: MonotonicInstant) {
        for connection in self.connections where ids.contains(connection.id) {
            connection.retire(end)
            self.look(at: connection, at: now)
        }
    }

    /// The credential was replaced.
    func retireAll() { self.retire(self.connections.map(\.id), .aged, at: .now) }

    func close(_ ids: [Int], _ end: ConnectionEnd, at now: MonotonicInstant) {
        for connection in self.connections where ids.contains(connection.id) {
            connection.end(end)
            self.look(at: connection, at: now)
        }
    }
}

extension ConnectionPool.State.Phase {
    fileprivate init(of connection: PushConnection) {
        self =
            switch connection.life.phase {
            case .connecting, .handshaking: .dialing
            case .ready where connection.life.isOld: .old
            case .ready: connection.conversation.isProven ? .ready : .proving
            case .draining, .closed: .draining
            }
    }
}
