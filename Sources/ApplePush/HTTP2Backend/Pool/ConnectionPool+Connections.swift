import HTTP2
import IO
import TLS

/// How connections are made.
extension ConnectionPool {
    /// What is said on a new connection.
    func conversation(_ terms: DialTerms, at now: MonotonicInstant) throws(HTTP2Error) -> Conversation {
        var limits = configuration.limits
        limits.age = limits.age * Double.random(in: 1...2)
        return try Conversation(
            authority: gateway.authority,
            trial: terms.trial,
            authorization: terms.authorization,
            deliveries: deliveries,
            limits: limits,
            requestTimeout: configuration.requestTimeout,
            expectancy: terms.expectancy,
            at: now
        )
    }

    /// Makes the way to the server.
    func dial(_ id: Int) async {
        do {
            let context = try self.context ?? makeContext()
            self.context = context
            let known = addresses
            let line = try await TCP.race(
                host: gateway.host,
                port: gateway.port,
                timeout: configuration.connectTimeout,
                on: loop,
                order: { known.ordered($0, at: .now) }
            )
            change(id, at: .now) { $0.address = line.address }
            addresses.failed(line.slower, at: .now)
            let socket = line.takeSocket()
            socket.giveUp(unacknowledgedAfter: configuration.writeTimeout + configuration.pingTimeout)
            var stream = try TLSStream(client: context, host: gateway.host, socket: socket)
            try await stream.shakeHands(until: .now + configuration.handshakeTimeout, on: loop)
            // Much may have happened meanwhile; the state is read anew from here on.
            try self.open(id, stream)
        } catch {
            let now = MonotonicInstant.now
            let failure = PushError(connectingTo: gateway, error)
            change(id, at: now) { $0.end(.unconnected(failure)) }
        }
    }

    private func makeContext() throws(TLSError) -> TLSContext {
        try TLSContext.client(
            identity: credential.identity,
            trust: gateway.trust.roots,
            alpn: ["h2"]
        )
    }

    private func open(_ id: Int, _ stream: consuming TLSStream) throws {
        guard isDialing(id) else { return }
        watches[id] = try loop.watch(stream.descriptor, for: .read) { interest in
            self.assumeIsolated { $0.ready(id, interest) }
        }
        meter.opened()
        var stream: TLSStream? = consume stream
        change(id, at: .now) { connection in
            if let stream = stream.take() { connection.connected(by: stream, at: .now) }
        }
        // What the server said right after the handshake may have been read with it.
        ready(id, .read)
    }
}
