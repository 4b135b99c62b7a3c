import IO
import Synchronization
import TLS

/// Lies between a client and an HTTP/2 server on this machine, ends TLS on both sides, and does to frames what the test
/// says: so that a true server can break every rule, and what it saw can still be counted.
package actor Relay {
    /// Says what becomes of a frame. It is asked on the relay's loop.
    package typealias Judge = @Sendable (RelayFrame) -> [RelayAct]

    private let loop: EventLoop
    private let target: UInt16
    private let near: TLSContext
    private let far: TLSContext
    private let judge: Judge
    private let piece: Int
    private let accepted = Atomic<Int>(0)
    private var listener: Listener?
    private var tasks: [Task<Void, Never>] = []
    private var links: [Int: RelayLink] = [:]
    private var isClosed = false
    /// The certificate, in PEM, of the authority that clients must trust.
    package nonisolated let rootPEM: String

    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.loop.asUnownedSerialExecutor() }

    private init(
        to target: UInt16,
        trusting root: String,
        certificate: String,
        privateKey: String,
        piece: Int,
        on loop: EventLoop,
        judge: @escaping Judge
    ) throws {
        self.loop = loop
        self.piece = piece
        self.target = target
        self.judge = judge
        let authority = try CertificateAuthority(name: "Relay authority")
        let (own, key) = try authority.issue(commonName: "127.0.0.1", subjectAlternativeNames: ["127.0.0.1"])
        self.rootPEM = authority.pem
        self.near = try TLSContext.server(
            identity: Identity(certificate: own, privateKey: key),
            clients: .requested(),
            alpn: ["h2"]
        )
        self.far = try TLSContext.client(
            identity: Identity(certificate: certificate, privateKey: privateKey),
            trust: .pem(root),
            alpn: ["h2"]
        )
    }

    /// A relay around a test, on 127.0.0.1. To the server it is whom the certificate says, whoever connects here.
    /// - Parameter piece: how many bytes go on at a time, at most.
    package static func with<R>(
        to target: UInt16,
        trusting root: String,
        certificate: String,
        privateKey: String,
        piece: Int = .max,
        judge: @escaping Judge,
        test: (Relay, UInt16) async throws -> R
    ) async throws -> R {
        let loop = try EventLoop(name: "relay")
        defer {
            loop.stop()
            loop.join()
        }
        let relay = try Relay(
            to: target,
            trusting: root,
            certificate: certificate,
            privateKey: privateKey,
            piece: piece,
            on: loop,
            judge: judge
        )
        let port = try await relay.listen()
        return try await attempt {
            try await test(relay, port)
        } finally: {
            await relay.close()
        }
    }

    /// How many connections were accepted.
    package nonisolated var connections: Int { self.accepted.load(ordering: .relaxed) }

    private func listen() throws -> UInt16 {
        let listener = try Listener(host: "127.0.0.1", port: 0, on: self.loop) { socket in
            let descriptor = socket.release()
            self.assumeIsolated { $0.accept(descriptor) }
        }
        self.listener = listener
        return listener.port
    }

    private func close() async {
        self.isClosed = true
        self.listener?.close()
        for task in self.tasks { task.cancel() }
        for task in self.tasks { await task.value }
        for link in Array(self.links.values) { link.end() }
    }

    private func accept(_ descriptor: CInt) {
        let number = self.accepted.wrappingAdd(1, ordering: .relaxed).newValue
        self.tasks.append(
            Task {
                do {
                    try await self.connect(number, descriptor)
                } catch {
                    // Whatever it is, it is the end of this connection, as it would be without a relay.
                }
            }
        )
    }

    private func connect(_ number: Int, _ descriptor: CInt) async throws {
        let client = try await TLSStream.accept(
            Socket(owning: descriptor),
            context: self.near,
            timeout: .seconds(60),
            on: self.loop
        )
        let server = try await TLSStream.connect(
            host: "127.0.0.1",
            port: self.target,
            context: self.far,
            connectTimeout: .seconds(60),
            handshakeTimeout: .seconds(60),
            on: self.loop
        )
        if self.isClosed { return }
        let link = RelayLink(number, client, server, piece: self.piece, on: self.loop, judge: self.judge) {
            self.links[number] = nil
        }
        self.links[number] = link
        try link.begin()
    }
}
