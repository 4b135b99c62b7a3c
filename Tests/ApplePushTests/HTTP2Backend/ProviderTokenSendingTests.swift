import ApplePush
import CarillonIO
import CarillonTLS
import FoundationEssentials
import Synchronization
import Testing

/// Sending with provider tokens, over the wire.
@Suite struct ProviderTokenSendingTests {
    private static let expired = TestGateway.Act.answer(403, #"{"reason":"ExpiredProviderToken"}"#)

    @Test func `every push carries the token, and the first is sent alone`() async throws {
        // The server allows a second stream only after its first answer.
        try await TestGateway.withBackend(streams: 1) { seen in
            seen.number == 1 ? [.allow(streams: 100), .answer(200)] : [.answer(200)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(50), to: gateway, with: try TestCredential.providerToken())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            let bearers = Set(server.seen.map { $0.fields["authorization"] ?? "" })
            #expect(bearers.count == 1)
            #expect(bearers.first?.hasPrefix("bearer ey") == true)
        }
    }

    @Test func `until a token is accepted there is one stream, though the gateway allows more`() async throws {
        try await TestGateway.withBackend {
            $0.requestTimeout = .milliseconds(500)
        } _: { _ in
            []
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(20), to: gateway, with: try TestCredential.providerToken())
            // One stream at a time: each is late before the next is opened, until the connection is retired.
            var counts: [Outcome.Verdict: Int] = [:]
            for outcome in outcomes { counts[outcome.verdict, default: 0] += 1 }
            let unknown = counts[.unknown, default: 0]
            let seen = server.seen.count
            #expect(unknown >= 1 && unknown <= 3)
            #expect(counts[.safe] == 20 - unknown)
            #expect(seen <= unknown)
        }
    }

    @Test
    func `after a refused credential nothing more is sent, and pushes that were not sent are safe`() async throws {
        try await TestGateway.withBackend { _ in
            [.answer(403, #"{"reason":"InvalidProviderToken"}"#)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(20), to: gateway, with: try TestCredential.providerToken())
            #expect(outcomes[0].verdict == .rejected)
            #expect(outcomes[0].action == .holdCredential)
            #expect(outcomes.dropFirst().allSatisfy { $0.verdict == .safe })
            #expect(outcomes.connectFailure?.code == .refused)
            #expect(outcomes.connectFailure?.message.contains("InvalidProviderToken") == true)
            #expect(server.seen.count == 1)
        }
    }

    @Test func `after TooManyProviderTokenUpdates no new token is sent`() async throws {
        try await TestGateway.withBackend { _ in
            [.answer(429, #"{"reason":"TooManyProviderTokenUpdates"}"#)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(20), to: gateway, with: try TestCredential.providerToken())
            #expect(outcomes[0].action == .keepProviderToken)
            #expect(outcomes.allSatisfy { $0.isRetryable })
            #expect(server.seen.count == 1)
            #expect(server.connections == 1)
        }
    }

    @Test func `connections to a gateway that ends each one after its first answer are paced`() async throws {
        try await TestGateway.withBackend { _ in
            [.answer(503, #"{"reason":"Shutdown"}"#)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(20), to: gateway, with: try TestCredential.providerToken())
            #expect(outcomes.allSatisfy { $0.isRetryable })
            #expect(server.connections == 2, "it is asked once more, and that is all")
        }
    }

    @Test
    func `an expired token is renewed once, on a new connection, and the push is sent again`() async throws {
        let minted = Guarded<[ProviderToken?]>([])
        try await TestGateway.withBackend { seen in
            seen.fields["authorization"] == "bearer token1" ? [Self.expired] : [.answer(200)]
        } test: { server, gateway, backend in
            let credential = try TestCredential.providerToken { _, refused in
                minted.withLock { minted in
                    minted.append(refused)
                    return ProviderToken(jwt: "token\(minted.count)", issuedAt: Int64(Date().timeIntervalSince1970))
                }
            }
            let outcomes = await backend.deliver(batch(20), to: gateway, with: credential)
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            #expect(minted.withLock { $0.map { $0?.jwt } } == [nil, "token1"])
            #expect(server.connections == 2)
            let first = server.seen.filter { $0.token == "00000000" }
            #expect(first.count == 2)
            #expect(Set(first.map(\.id)).count == 1)
        }
    }

    @Test func `a token that is too old right after its renewal is not renewed again`() async throws {
        let minted = Atomic<Int>(0)
        try await TestGateway.withBackend { _ in
            [Self.expired]
        } test: { server, gateway, backend in
            let credential = try TestCredential.providerToken { _, _ in
                let number = minted.wrappingAdd(1, ordering: .relaxed).newValue
                return ProviderToken(jwt: "token\(number)", issuedAt: Int64(Date().timeIntervalSince1970))
            }
            let outcomes = await backend.deliver(batch(1), to: gateway, with: credential)
            #expect(outcomes[0].verdict == .rejected)
            #expect(outcomes.text(of: outcomes[0].reason) == "ExpiredProviderToken")
            #expect(outcomes[0].isRetryable)
            #expect(server.seen.count == 2)
        }
    }

    @Test func `without a token nothing is sent, and the error says why`() async throws {
        struct StoreIsDown: Error {}
        try await TestGateway.accepting { server, gateway, backend in
            let credential = try TestCredential.providerToken { _, _ in throw StoreIsDown() }
            let outcomes = await backend.deliver(batch(5), to: gateway, with: credential)
            #expect(outcomes.allSatisfy { $0.verdict == .safe })
            #expect(outcomes.connectFailure?.code == .noProviderToken)
            #expect(server.seen.isEmpty)
        }
    }
}
