package import CarillonIO
import Glibc

/// Stands between a client and a server, and has the faults of networks on demand.
package actor Proxy {
    /// Up to the server, or down to the client.
    package enum Direction: Sendable { case up, down }

    /// How a connection ends.
    package enum CloseKind: Sendable { case close, reset }

    private let loop: EventLoop
    private let target: UInt16
    private var listener: Listener?
    private var joined = 0
    private var links: [Int: ProxyLink] = [:]
    /// Where to connect, on 127.0.0.1. It stays the same through `refuse()` and `admit()`.
    package private(set) var port: UInt16 = 0
    /// How many connections were accepted.
    package private(set) var connections = 0
    /// How many connections were cut.
    package private(set) var cuts = 0
    private var bytes = (up: 0, down: 0)

    private var latency = Duration.zero
    private var cutAfter: (direction: Direction, bytes: Int, times: Int)?
    private var isBlackHole = false
    private var isFrozen = false
    private var freezesAt: Int?
    private var isClosed = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Runs the body with a proxy before a port of 127.0.0.1, on the caller's loop.
    package static func with<R>(
        to target: UInt16,
        on loop: EventLoop,
        _ body: (Proxy) async throws -> R
    ) async throws -> R {
        let proxy = Proxy(to: target, on: loop)
        try await proxy.admit()
        return try await attempt {
            try await body(proxy)
        } finally: {
            await proxy.close()
        }
    }

    private init(to target: UInt16, on loop: EventLoop) {
        self.target = target
        self.loop = loop
    }

    private func close() {
        isClosed = true
        refuse()
        endAll(by: .reset)
    }

    // MARK: Faults

    /// Delays what is sent from now on, in each direction.
    package func delay(by latency: Duration) {
        self.latency = latency
        for link in links.values { link.delay(by: latency) }
    }

    /// Whether a black hole drops packets. Otherwise connections hang too, but the kernel acknowledges what comes.
    package static var losesPackets: Bool { BlackHole.dropsPackets }

    /// Drops all packets from now on: connections hang, also new ones.
    package func openBlackHole() throws {
        isBlackHole = true
        for link in links.values { try link.fallIntoBlackHole() }
    }

    /// Drops all packets of the present connections for good, as a router that has forgotten them. New ones work.
    package func forgetConnections() throws {
        for link in links.values { try link.fallIntoBlackHole() }
    }

    /// Ends the black hole. TCP sends again what was lost, on connections that are still open.
    package func closeBlackHole() {
        isBlackHole = false
        for link in links.values { link.leaveBlackHole() }
    }

    /// Passes nothing on from now on, as a frozen process: connections hang, also new ones, and the kernel acknowledges what comes.
    package func freeze() {
        isFrozen = true
        for link in links.values { link.freeze() }
    }

    package func thaw() {
        isFrozen = false
        for link in links.values { link.thaw() }
    }

    /// Freezes as soon as that many bytes have passed up to the server from now on.
    package func freeze(afterBytes count: Int) { freezesAt = bytes.up + count }

    /// Resets a connection once that many bytes have passed in the direction, counted from now or from its beginning. Exactly
    /// these bytes arrive. It does so with that many connections in all.
    package func cut(_ direction: Direction, afterBytes count: Int, times: Int = 1) {
        cutAfter = (direction, count, times)
        for link in links.values { link.cut(direction, afterBytes: count) }
    }

    /// Ends every connection.
    package func endAll(by ending: CloseKind) {
        for link in links.values { link.end(by: ending) }
    }

    /// Accepts no more connections: the kernel refuses them.
    package func refuse() {
        listener.take()?.close()
    }

    /// Accepts connections again.
    package func admit() throws {
        guard listener == nil else { return }
        let port = self.port == 0 ? ReservedPort.choose() : self.port
        let listener = try Listener(host: "127.0.0.1", port: port, on: loop) { [weak self] socket in
            let client = socket.release()
            guard let self else {
                Glibc.close(client)
                return
            }
            Task { await connect(client) }
        }
        self.port = listener.port
        self.listener = listener
    }

    // MARK: Observation

    /// How many bytes have passed in the direction, on all connections together.
    package func passed(_ direction: Direction) -> Int {
        switch direction {
        case .up: bytes.up
        case .down: bytes.down
        }
    }

    // MARK: Connections

    private func connect(_ client: CInt) async {
        let client = Socket(owning: client)
        connections += 1
        let server: CInt
        do {
            server = try await TCP.connect(host: "127.0.0.1", port: target, timeout: .seconds(60), on: loop)
                .release()
        } catch {
            return client.resetWhenClosed()
        }
        join(client, Socket(owning: server))
    }

    private func join(_ client: consuming Socket, _ server: consuming Socket) {
        guard !isClosed else { return }
        joined += 1
        let number = joined
        let link = ProxyLink(
            client,
            server,
            on: loop,
            passed: { direction, count in
                switch direction {
                case .up: self.bytes.up += count
                case .down: self.bytes.down += count
                }
                if let end = self.freezesAt, self.bytes.up >= end {
                    self.freezesAt = nil
                    // At once, or the answer to these bytes could still pass.
                    for link in self.links.values { link.stop() }
                    self.loop.submit { self.assumeIsolated { $0.freeze() } }
                }
            },
            ended: { isCut in
                self.links[number] = nil
                if isCut { self.wasCut() }
            }
        )
        links[number] = link
        link.delay(by: latency)
        if isBlackHole { try? link.fallIntoBlackHole() }
        if isFrozen { return link.freeze() }
        if let cutAfter { return link.cut(cutAfter.direction, afterBytes: cutAfter.bytes) }
        link.work()
    }

    private func wasCut() {
        cuts += 1
        if let (direction, bytes, times) = cutAfter {
            cutAfter = times > 1 ? (direction, bytes, times - 1) : nil
            if times <= 1 { for link in links.values { link.cut(direction, afterBytes: nil) } }
        }
    }
}
