import IO
import TLS
import TestSupport

/// A gateway that shakes hands with nobody whose certificate its own authority has not issued.
final class RefusingGateway: Sendable {
    /// Whom apps have to trust to get so far.
    let rootPEM: String
    private let context: TLSContext
    private let loop: EventLoop
    private let handshakes = Guarded<[Task<Void, Never>]>([])

    private init(on loop: EventLoop) throws {
        let authority = try CertificateAuthority(name: "Refusing")
        let names = ["localhost", "127.0.0.1"]
        let issued = try authority.issue(commonName: "localhost", subjectAlternativeNames: names)
        self.rootPEM = authority.pem
        self.loop = loop
        self.context = try TLSContext.server(
            identity: Identity(certificate: issued.certificatePEM, privateKey: issued.privateKeyPEM),
            clients: .required(authority: authority.pem),
            alpn: ["h2"]
        )
    }

    /// How many have tried.
    var tries: Int { self.handshakes.withLock { $0.count } }

    static func with(on loop: EventLoop, _ body: (RefusingGateway, UInt16) async throws -> Void) async throws {
        let gateway = try RefusingGateway(on: loop)
        let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { gateway.accept($0.release()) }
        try await attempt {
            try await body(gateway, listener.port)
        } finally: {
            listener.close()
            for handshake in gateway.handshakes.withLock({ $0 }) {
                handshake.cancel()
                await handshake.value
            }
        }
    }

    private func accept(_ descriptor: CInt) {
        let (context, loop) = (self.context, self.loop)
        let handshake = Task(executorPreference: loop) {
            let limit = Duration.seconds(10)
            _ = try? await TLSStream.accept(Socket(owning: descriptor), context: context, timeout: limit, on: loop)
        }
        self.handshakes.withLock { $0.append(handshake) }
    }
}
