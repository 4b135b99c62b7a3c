import ApplePush
import CarillonHTTP2
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

/// Gateways that cannot be reached or trusted: nothing is sent, and the error is a sentence.
@Suite struct UnreachableGatewayTests {
    private func failure(
        to gateway: Gateway,
        _ credential: Credential? = nil,
        _ change: (inout HTTP2Configuration) -> Void = { _ in }
    ) async throws -> PushError {
        let credential = try credential ?? TestCredential.certificate()
        return try await withBackend(change) { backend in
            let apns = try APNs(backend, to: gateway, with: credential)
            let message = try Message(tokens: ["a1", "b2"], alert: "Hello", topic: "org.example.app")
            let error = await #expect(throws: PushError.self) { try await apns.send(message) }
            return try #require(error)
        }
    }

    @Test func `a host without an address is unreachable`() async throws {
        let error = try await failure(to: Gateway(host: "no-such-host.invalid", port: 443))
        #expect(error.code == .unreachable)
        #expect(error.message.contains("no-such-host.invalid"))
    }

    @Test func `a trust root that is not a certificate is refused`() async throws {
        let error = try await failure(to: Gateway(host: "127.0.0.1", port: 1, trust: .pem("garbage")))
        #expect(error.code == .invalidGateway)
    }

    @Test func `a server that refuses our certificate gets nothing`() async throws {
        let other = try CertificateAuthority(name: "Other").pem
        try await TestGateway.with(
            clients: .required(authority: other),
            test: { server, gateway in
                let error = try await failure(to: gateway)
                #expect(error.code == .refused)
                #expect(server.seen.isEmpty)
            }
        )
    }

    @Test func `a server that accepts and never shakes hands is unreachable`() async throws {
        // Connections wait here, where nobody accepts them.
        let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
        let gateway = Gateway(host: "127.0.0.1", port: listener.port)
        let error = try await failure(to: gateway) { $0.handshakeTimeout = .milliseconds(100) }
        #expect(error.code == .unreachable)
        _ = consume listener
    }

    @Test func `a server that shakes hands and sends nothing does not speak HTTP/2`() async throws {
        try await RawGateway.with { line in
            await line.stayUntilStopped()
        } test: { server, port in
            let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM))
            let error = try await failure(to: gateway) { $0.settingsTimeout = .milliseconds(100) }
            #expect(error.code == .notHTTP2)
        }
    }

    @Test func `a GOAWAY with a reason refuses the credential`() async throws {
        try await TestGateway.with(
            { _ in [.goAway(last: 0, .noError, #"{"reason":"BadCertificate"}"#)] },
            test: { _, gateway in
                let error = try await failure(to: gateway)
                #expect(error.code == .refused)
                #expect(error.message.contains("BadCertificate"))
            }
        )
    }

    @Test func `a gateway that is up again is found`() async throws {
        let port = ReservedPort.choose()
        try await withBackend { backend in
            let credential = try TestCredential.certificate()
            let gone = Gateway(host: "127.0.0.1", port: port, trust: .pem(TestCredential.authority.pem))
            let first = await backend.deliver(batch(2), to: gone, with: credential)
            #expect(first.allSatisfy { $0.verdict == .safe })
            #expect(first.connectFailure?.code == .unreachable)
            try await TestGateway.with(
                port: port,
                test: { _, gateway in
                    let second = await backend.deliver(batch(2), to: gateway, with: credential)
                    #expect(second.allSatisfy { $0.verdict == .accepted })
                }
            )
        }
    }
}
