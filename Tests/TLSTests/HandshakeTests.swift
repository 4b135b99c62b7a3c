import IO
import TLS
import TestSupport
import Testing

/// Two ends of a TLS connection over loopback, driven on one loop.
enum Handshake {
    struct Ends: ~Copyable {
        var client: TLSStream
        var server: TLSStream
    }

    static let deadline = Duration.seconds(30)

    /// Shakes hands over a new connection and says what came of each side.
    static func attempt(
        client: TLSContext,
        server: TLSContext,
        host: String = "localhost",
        on loop: EventLoop
    ) async throws -> (client: Swift::Result<String, TLSError>, server: Swift::Result<String, TLSError>) {
        let (clientEnd, serverEnd) = try SocketPair().release()
        async let serving = Self.side { () throws(TLSError) in
            try TLSStream(server: server, socket: Socket(owning: serverEnd))
        } on: {
            loop
        }
        let connecting = await Self.side { () throws(TLSError) in
            try TLSStream(client: client, host: host, socket: Socket(owning: clientEnd))
        } on: {
            loop
        }
        return await (connecting, serving)
    }

    /// The handshake, then one byte each way: over TLS 1.3 a client learns only then that it was refused.
    private static func side(
        _ make: @Sendable () throws(TLSError) -> TLSStream,
        on loop: @Sendable () -> EventLoop
    ) async -> Swift::Result<String, TLSError> {
        do throws(TLSError) {
            var stream = try make()
            let deadline = MonotonicInstant.now + Self.deadline
            try await stream.shakeHands(until: deadline, on: loop())
            try await stream.send([7], until: deadline, on: loop())
            var bytes = [UInt8](repeating: 0, count: 8)
            _ = try await stream.receive(into: &bytes, until: deadline, on: loop())
            return .success("\(stream.version) \(stream.alpn ?? "-") \(stream.peerCertificate?.subject ?? "-")")
        } catch {
            return .failure(error)
        }
    }
}

@Suite struct HandshakeTests {

    @Test func `both sides prove who they are and agree on a protocol`() async throws {
        try await TestLoop.with { loop in
            let authority = try CertificateAuthority(name: "Test Root")
            let server = try authority.issue(commonName: "localhost", subjectAlternativeNames: ["localhost"])
            let client = try authority.issue(commonName: "a client", topics: ["org.example.app"])
            let outcome = try await Handshake.attempt(
                client: .client(
                    identity: Identity(certificate: client.certificatePEM, privateKey: client.privateKeyPEM),
                    trust: .pem(authority.pem),
                    alpn: ["h2"]
                ),
                server: .server(
                    identity: Identity(certificate: server.certificatePEM + server.privateKeyPEM),
                    clients: .required(authority: authority.pem),
                    alpn: ["h2"]
                ),
                on: loop
            )
            #expect(try outcome.client.get() == "TLSv1.3 h2 CN=localhost")
            #expect(try outcome.server.get() == "TLSv1.3 h2 CN=a client,UID=org.example.app")
        }
    }
}
