import HTTP2
import IO
import TLS

/// How connections are made.
extension ConnectionPool {
    /// What is said on a new connection.
    func conversation(_ terms: DialTerms, at now: MonotonicInstant) throws(HTTP2Error) -> Conversation {
        var limits = self.configuration.limits
        limits.age = limits.age * Double.random(in: 1...2)
        return try Conversation(
            authority: self.gateway.authority,
            trial: terms.trial,
            authorization: terms.authorization,
            deliveries: self.deliveries,
            limits: limits,
            requestTimeout: self.configuration.requestTimeout,
            expectancy: terms.expectancy,
            at: now
        )
    }

    /// Makes the way to the server.
    func dial(_ id: Int) async {
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
            self.change(id, at: .now) { $0.address = line.address }
            self.addresses.failed(line.slower, at: .now)
            let socket = line.takeSocket()
            socket.giveUp(unacknowledgedAfter: self.configuration.writeTimeout + self.configuration.pingTimeout)
            var stream = try TLSStream(client: context, host: self.gateway.host, socket: socket)
            try await stream.shakeHands(until: .now + self.configuration.handshakeTimeout, on: self.loop)
            // Much may have happened meanwhile; the state is read anew from here on.
            try self.open(id, stream)
        } catch {
            let now = MonotonicInstant.now
            let failure = PushError(connectingTo: self.gateway, error)
            self.change(id, at: now) { $0.end(.unconnected(failure)) }
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
        guard self.isDialing(id) else { return }
        self.watches[id] = try self.loop.watch(stream.descriptor, for: .read) { interest in
            self.assumeIsolated { $0.ready(id, interest) }
        }
        self.meter.opened()
        var stream: TLSStream? = consume stream
        self.change(id, at: .now) { connection in
            if let stream = stream.take() { connection.connected(by: stream, at: .now) }
        }
        // What the server said right after the handshake may have been read with it.
        self.ready(id, .read)
    }
}
