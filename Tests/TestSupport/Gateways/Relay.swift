import IO
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

    /// A relay around a test, on 127.0.0.1. To the server it is whom the certificate says, whoever connects here. The
    /// test is told by what its clients come in.
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
