import Testing

@testable import ApplePush

/// A certificate that no gateway has accepted yet is tried with few pushes, and one that was accepted is not tried again.
@Suite struct CredentialTrialTests {
    private static let shutdown = #"{"reason":"Shutdown"}"#

    @Test func `what a gateway refuses after the handshake costs few pushes`() async throws {
        try await TestGateway.with { _ in
            [.answer(403, #"{"reason":"BadCertificate"}"#)]
        } test: { server, gateway in
            try await withBackend { backend in
                let outcomes = await backend.deliver(batch(100), to: gateway, with: try TestCredential.certificate())
                #expect(outcomes.count { $0.verdict == .rejected } == ConnectionRoster.certificateAcceptanceLimit)
                #expect(outcomes.count { $0.verdict == .safe } == 100 - ConnectionRoster.certificateAcceptanceLimit)
                #expect(outcomes.connectFailure?.code == .refused)
                #expect(server.seen.count == ConnectionRoster.certificateAcceptanceLimit)
            }
        }
    }

    @Test func `one answer about a push shows that the certificate is accepted, on later connections too`() async throws
    {
        try await TestGateway.with { seen in
            if seen.connection == 1 {
                return seen.number == 1
                    ? [.answer(400, #"{"reason":"BadDeviceToken"}"#)] : [.answer(503, Self.shutdown)]
            }
            // Nothing is answered before all have come.
            guard seen.number == 50 else { return [] }
            return (1..<50).map { .answerEarlier(stream: Int32($0) * 2 - 1, 200) } + [.answer(200)]
        } test: { server, gateway in
            try await withBackend { backend in
                let credential = try TestCredential.certificate()
                let first = await backend.deliver(batch(1), to: gateway, with: credential)
                #expect(first[0].status == 400)
                let last = await backend.deliver(batch(1), to: gateway, with: credential)
                #expect(last[0].status == 503)
                let others = await backend.deliver(batch(50), to: gateway, with: credential)
                #expect(others.allSatisfy { $0.verdict == .delivered })
                #expect(server.connections == 2)
            }
        }
    }
}
