import CarillonIO
import CarillonTLS
import Glibc
import TestSupport
import Testing

/// An authority with a server's and a client's certificate.
struct House {
    let authority: CertificateAuthority
    let server: Identity
    let client: Identity

    var trust: Trust { .pem(authority.pem) }

    init(
        root: String = "Test Root",
        serverNames: [String] = ["localhost", "127.0.0.1"],
        serverNotBefore: Int64? = nil,
        serverNotAfter: Int64? = nil
    ) throws {
        authority = try CertificateAuthority(name: root)
        let server = try authority.issue(
            commonName: serverNames[0],
            subjectAlternativeNames: serverNames,
            notBefore: serverNotBefore,
            notAfter: serverNotAfter
        )
        let client = try authority.issue(commonName: "a client", topics: ["org.example.app"])
        self.server = try Identity(certificate: server.certificatePEM + server.privateKeyPEM)
        self.client = try Identity(certificate: client.certificatePEM, privateKey: client.privateKeyPEM)
    }
}

/// The two sides of one connection over a pair of sockets.
extension House {
    typealias Outcome = Swift::Result<String, TLSError>

    /// - Parameter client: nil: one that trusts the authority.
    /// - Parameter server: nil: one with the server's certificate.
    func shakeHands(
        client: TLSContext? = nil,
        server: TLSContext? = nil,
        host: String = "localhost"
    ) async throws -> (client: Outcome, server: Outcome) {
        let client = try client ?? .client(trust: trust)
        let server = try server ?? .server(identity: self.server)
        return try await TestLoop.with { loop in
            let (clientEnd, serverEnd) = try SocketPair().release()
            // Each end stays open until both sides are done: where one closes with something unread, the reset would
            // overtake what it has said last.
            let clientHold = Socket(owning: dup(clientEnd))
            let serverHold = Socket(owning: dup(serverEnd))
            defer {
                withExtendedLifetime(clientHold) {}
                withExtendedLifetime(serverHold) {}
            }
            async let serving = Self.side(on: loop) { () throws(TLSError) in
                try TLSStream(server: server, socket: Socket(owning: serverEnd))
            }
            let connecting = await Self.side(on: loop) { () throws(TLSError) in
                try TLSStream(client: client, host: host, socket: Socket(owning: clientEnd))
            }
            return await (connecting, serving)
        }
    }

    /// The handshake, then one byte each way: over TLS 1.3 a client learns only then that it was refused.
    private static func side(on loop: EventLoop, _ make: @Sendable () throws(TLSError) -> TLSStream) async -> Outcome {
        do throws(TLSError) {
            var stream = try make()
            let deadline = MonotonicInstant.now + .seconds(30)
            try await stream.shakeHands(until: deadline, on: loop)
            try await stream.send([7], until: deadline, on: loop)
            var bytes = [UInt8](repeating: 0, count: 8)
            _ = try await stream.receive(into: &bytes, until: deadline, on: loop)
            stream.closeNotify()
            return .success("\(stream.version) \(stream.alpn ?? "-") \(stream.peerCertificate?.subject ?? "-")")
        } catch {
            return .failure(error)
        }
    }
}

extension Swift::Result where Failure == TLSError {
    var failure: TLSError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

@Suite struct HandshakeTests {
    @Test func `both sides authenticate themselves and agree on a protocol`() async throws {
        let house = try House()
        let outcome = try await house.shakeHands(
            client: .client(identity: house.client, trust: house.trust, alpn: ["h2"]),
            server: .server(identity: house.server, clients: .required(authority: house.authority.pem), alpn: ["h2"])
        )
        #expect(try outcome.client.get() == "TLSv1.3 h2 CN=localhost")
        #expect(try outcome.server.get() == "TLSv1.3 h2 CN=a client,UID=org.example.app")
    }

    @Test(arguments: ["localhost", "localhost.", "LOCALHOST", "127.0.0.1"])
    func `a server is known by any of its names`(host: String) async throws {
        let house = try House()
        let outcome = try await house.shakeHands(host: host)
        #expect(try outcome.client.get() == "TLSv1.3 - CN=localhost")
        #expect(try outcome.server.get() == "TLSv1.3 - -")
    }

    @Test(arguments: ["example.org", "127.0.0.2", "::1"])
    func `a server under another name is refused`(host: String) async throws {
        let house = try House()
        let outcome = try await house.shakeHands(host: host)
        #expect(outcome.client.failure?.code == .wrongHostName)
        #expect(
            outcome.client.failure?.message
                == "the server's certificate is not for \(host): connect by the name that it was issued for"
        )
        #expect(outcome.server.failure?.code == .rejected)
    }

    @Test func `a server of an unknown authority is refused`() async throws {
        let (house, stranger) = try (House(), House(root: "Another Root"))
        for trust in [stranger.trust, .system] {
            let outcome = try await house.shakeHands(client: .client(trust: trust))
            #expect(outcome.client.failure?.code == .untrusted)
            #expect(outcome.client.failure?.message.hasPrefix("localhost is not trusted (") == true)
            #expect(outcome.server.failure?.alert == 48)
            #expect(
                outcome.server.failure?.message
                    == "the client rejected the connection with the TLS alert 48 (unknown "
                    + "CA): it does not know the authority that issued the certificate it received"
            )
        }
    }

    @Test func `an authority is known by its key, not by its name`() async throws {
        let (house, impostor) = try (House(), House())
        let outcome = try await house.shakeHands(client: .client(trust: impostor.trust))
        #expect(outcome.client.failure?.code == .untrusted)
    }

    @Test func `a server may be trusted by its own certificate`() async throws {
        let house = try House()
        let issued = try house.authority.issue(commonName: "localhost", subjectAlternativeNames: ["localhost"])
        let outcome = try await house.shakeHands(
            client: .client(trust: .pem(issued.certificatePEM)),
            server: .server(identity: Identity(certificate: issued.certificatePEM + issued.privateKeyPEM))
        )
        #expect(outcome.client.failure == nil)
    }

    @Test func `a server whose certificate has expired, or is from the future, is refused`() async throws {
        let expired = try House(serverNotAfter: 1_700_000_000)
        let outcome = try await expired.shakeHands()
        #expect(outcome.client.failure?.code == .expired)
        #expect(outcome.client.failure?.message == "the certificate of localhost has expired: its owner must renew it")
        let early = try House(serverNotBefore: 4_100_000_000, serverNotAfter: 4_200_000_000)
        let tooEarly = try await early.shakeHands()
        #expect(tooEarly.client.failure?.code == .notYetValid)
    }

    @Test func `a client without a certificate is rejected where one is required`() async throws {
        let house = try House()
        let outcome = try await house.shakeHands(
            server: .server(identity: house.server, clients: .required(authority: house.authority.pem))
        )
        #expect(outcome.server.failure?.code == .untrusted)
        #expect(outcome.server.failure?.message == "the client presented no certificate, and one is required")
        #expect(outcome.client.failure?.code == .rejected)
        #expect(outcome.client.failure?.alert == 116)
        #expect(outcome.client.failure?.message.hasSuffix("it requires a certificate and received none") == true)
    }

    @Test func `a client of an unknown authority is rejected`() async throws {
        let (house, stranger) = try (House(), House())
        let outcome = try await house.shakeHands(
            client: .client(identity: stranger.client, trust: house.trust),
            server: .server(identity: house.server, clients: .requested(authority: house.authority.pem))
        )
        #expect(outcome.server.failure?.code == .untrusted)
        #expect(outcome.client.failure?.code == .rejected)
    }

    @Test func `a server may ask for a certificate and take any, or none`() async throws {
        let (house, stranger) = try (House(), House())
        let server = try TLSContext.server(identity: house.server, clients: .requested())
        let known = try await house.shakeHands(
            client: .client(identity: stranger.client, trust: house.trust),
            server: server
        )
        #expect(try known.server.get() == "TLSv1.3 - CN=a client,UID=org.example.app")
        let unknown = try await house.shakeHands(server: server)
        #expect(try unknown.server.get() == "TLSv1.3 - -")
    }

    @Test func `without a common protocol there is no connection`() async throws {
        let house = try House()
        let outcome = try await house.shakeHands(
            client: .client(trust: house.trust, alpn: ["h2"]),
            server: .server(identity: house.server, alpn: ["http/1.1"])
        )
        #expect(outcome.client.failure?.code == .noProtocol)
        #expect(outcome.client.failure?.alert == 120)
        #expect(outcome.server.failure?.code == .noProtocol)
    }

    @Test func `a server that ignores the protocols offered is refused`() async throws {
        let house = try House()
        let outcome = try await house.shakeHands(client: .client(trust: house.trust, alpn: ["h2"]))
        #expect(outcome.client.failure?.code == .noProtocol)
        #expect(
            outcome.client.failure?.message
                == "localhost did not agree to speak h2: is it the right host and port?"
        )
    }

    @Test func `a client that offers no protocol is refused where one is required`() async throws {
        let house = try House()
        let outcome = try await house.shakeHands(server: .server(identity: house.server, alpn: ["h2"]))
        #expect(outcome.server.failure?.code == .noProtocol)
    }

    @Test func `a server is not known by the common name of its certificate`() async throws {
        let house = try House()
        let issued = try house.authority.issue(commonName: "localhost")
        let outcome = try await house.shakeHands(
            server: .server(identity: Identity(certificate: issued.certificatePEM + issued.privateKeyPEM))
        )
        #expect(outcome.client.failure?.code == .wrongHostName)
    }

    @Test func `a malformed trust root is refused before any connection`() {
        let error = #expect(throws: TLSError.self) { _ = try TLSContext.client(trust: .pem("hello")) }
        #expect(error?.code == .malformedCertificate)
        #expect(error?.message.hasPrefix("the root certificate is not a certificate in PEM form") == true)
    }
}
