import Testing

@testable import ApplePush

/// Few pushes are in flight until a gateway has accepted a certificate.
@Suite struct CredentialAcceptanceTests {
    private static let shutdown = #"{"reason":"Shutdown"}"#

    @Test func `a credential that is refused after the handshake costs few pushes`() async throws {
        try await TestGateway.withBackend { _ in
            [.answer(403, #"{"reason":"BadCertificate"}"#)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(100), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.count { $0.verdict == .rejected } == ConnectionRoster.certificateAcceptanceLimit)
            #expect(outcomes.count { $0.verdict == .safe } == 100 - ConnectionRoster.certificateAcceptanceLimit)
            #expect(outcomes.connectFailure?.code == .refused)
            #expect(server.seen.count == ConnectionRoster.certificateAcceptanceLimit)
        }
    }

    @Test func `one answer about a push proves the certificate accepted, on later connections too`() async throws {
        try await TestGateway.withBackend { seen in
            if seen.connection == 1 {
                return seen.number == 1
                    ? [.answer(400, #"{"reason":"BadDeviceToken"}"#)] : [.answer(503, Self.shutdown)]
            }
            // Nothing is answered before all have arrived.
            guard seen.number == 50 else { return [] }
            return (1..<50).map { .answerEarlier(stream: Int32($0) * 2 - 1, 200) } + [.answer(200)]
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            let first = await backend.deliver(batch(1), to: gateway, with: credential)
            #expect(first[0].status == 400)
            let last = await backend.deliver(batch(1), to: gateway, with: credential)
            #expect(last[0].status == 503)
            let others = await backend.deliver(batch(50), to: gateway, with: credential)
            #expect(others.allSatisfy { $0.verdict == .accepted })
            #expect(server.connections == 2)
        }
    }
}
