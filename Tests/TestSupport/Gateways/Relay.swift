import CarillonIO
import CarillonTLS

/// Stands between a client and an HTTP/2 server, terminates TLS on both sides, and changes frames as the test says. So a real
/// server can break any rule, and its requests can still be counted.
package actor Relay {
    /// Decides on a frame. It is called on the relay's loop.
    package typealias Judge = @Sendable (RelayFrame) -> [RelayAct]

    private let loop: EventLoop
    private let target: UInt16
    private let near: TLSContext
    private let far: TLSContext
    private let judge: Judge
    private let piece: Int
    private var links: [Int: RelayLink] = [:]
    private var isClosed = false
    /// The certificate, in PEM, of the authority that clients must trust.
    package nonisolated let rootPEM: String

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

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
        let own = try ServerCertificate()
        rootPEM = own.rootPEM
        near = try own.context()
        far = try TLSContext.client(
            identity: Identity(certificate: certificate, privateKey: privateKey),
            trust: .pem(root),
            alpn: ["h2"]
        )
    }

    /// Runs a test with a relay on 127.0.0.1, which shows the server this certificate for all clients.
    /// - Parameter piece: how many bytes go on at a time, at most.
    package static func with<R>(
        to target: UInt16,
        trusting root: String,
        certificate: String,
        privateKey: String,
        piece: Int = 16_384,
        judge: @escaping Judge,
        test: (Reception, _ port: UInt16, _ rootPEM: String) async throws -> R
    ) async throws -> R {
        try await TestLoop.with { loop in
            let relay = try Relay(
                to: target,
                trusting: root,
                certificate: certificate,
                privateKey: privateKey,
                piece: piece,
                on: loop,
                judge: judge
            )
            return try await Reception.with(on: loop) { number, descriptor in
                try await relay.connect(number, descriptor)
            } test: { reception, port in
                try await attempt {
                    try await test(reception, port, relay.rootPEM)
                } finally: {
                    await relay.close()
                }
            }
        }
    }

    private func close() {
        isClosed = true
        for link in Array(links.values) { link.end() }
    }

    private func connect(_ number: Int, _ descriptor: CInt) async throws {
        let client = try await TLSStream.accept(
            Socket(owning: descriptor),
            context: near,
            timeout: .seconds(60),
            on: loop
        )
        let server = try await TLSStream.connect(
            host: "127.0.0.1",
            port: target,
            context: far,
            connectTimeout: .seconds(60),
            handshakeTimeout: .seconds(60),
            on: loop
        )
        if isClosed { return }
        let link = RelayLink(number, client, server, piece: piece, on: loop, judge: judge) {
            self.links[number] = nil
        }
        links[number] = link
        try link.begin()
    }
}
