import CarillonIO
import CarillonTLS

extension ConnectionPool {
    func dial(_ id: Int) async {
        do {
            let context = try self.context ?? gateway.tlsContext(with: credential, requiresHTTP2: wire.requiresHTTP2)
            self.context = context
            let known = addresses
            let line = try await TCP.race(
                host: gateway.host,
                port: gateway.port,
                timeout: limits.connectTimeout,
                on: loop,
                order: { known.ordered($0, at: .now) }
            )
            change(id, at: .now) { $0.address = line.address }
            addresses.failed(line.slower, at: .now)
            let socket = line.takeSocket()
            socket.giveUp(unacknowledgedAfter: limits.unacknowledgedTimeout)
            var stream = try TLSStream(client: context, host: gateway.host, socket: socket)
            try await stream.shakeHands(until: .now + limits.handshakeTimeout, on: loop)
            try wire.check(stream.alpn, of: gateway)
            // The connection may have been ended in the meantime.
            if isDialing(id) { try self.open(id, stream) }
        } catch {
            let now = MonotonicInstant.now
            let failure = PushError(connectingTo: gateway, error)
            change(id, at: now) { $0.end(.unconnected(failure)) }
        }
    }

    private func open(_ id: Int, _ stream: consuming TLSStream) throws {
        watches[id] = try loop.watch(stream.descriptor, for: .read) { interest in
            self.assumeIsolated { $0.ready(id, interest) }
        }
        meter.opened()
        observer?.connectionOpened(to: gateway)
        var stream: TLSStream? = consume stream
        change(id, at: .now) { connection in
            if let stream = stream.take() { connection.connected(by: stream, at: .now) }
        }
        // The handshake may have read bytes beyond its own.
        ready(id, .read)
    }
}
