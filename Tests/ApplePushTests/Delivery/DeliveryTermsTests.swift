import ApplePush
import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Permits and early returns over real sockets.
@Suite struct DeliveryTermsTests {
    private func count(_ outcomes: Outcomes) -> [Outcome.Verdict: Int] {
        outcomes.reduce(into: [:]) { $0[$1.verdict, default: 0] += 1 }
    }

    /// A gateway that keeps the push to token 3 waiting until the one to token 4095 comes.
    private func withHolding(_ test: (TestGateway, Gateway, HTTP2Backend, Credential) async throws -> Void) async throws
    {
        let held = Guarded<Int32?>(nil)
        try await TestGateway.with { seen in
            switch seen.token {
            case "00000003":
                held.withLock { $0 = seen.stream }
                return []
            case "00000fff": return held.withLock { [.answer(200), .answerEarlier(stream: $0 ?? 0, 200)] }
            default: return [.answer(200)]
            }
        } test: { server, gateway in
            try await withBackend { try await test(server, gateway, $0, try TestCredential.certificate()) }
        }
    }

    /// The push that releases the answer to the one to token 3.
    private var release: PushBatch {
        var batch = PushBatch()
        let heading = batch.addHeading(
            payload: "{}".utf8Span.span.bytes,
            topic: "org.example.app".utf8Span.span.bytes,
            collapseID: "".utf8Span.span.bytes
        )
        batch.addPush(token: "00000fff".utf8Span.span.bytes, heading: heading, id: PushID(high: 1, low: 1))
        return batch
    }

    @Test func `a delivery returns early with the fast pushes, and the slow one follows, each sent once`() async throws
    {
        try await withHolding { server, gateway, backend, credential in
            let terms = DeliveryTerms(returnAfter: .milliseconds(100))
            let early = await backend.deliver(batch(10), to: gateway, with: credential, terms: terms)
            #expect(early.outcomes[3].verdict == .pending)
            #expect(early.outcomes.allSatisfy { $0.verdict == .pending || $0.verdict == .accepted })
            #expect(early.outcomes.contains { $0.verdict == .accepted })
            let remainder = try #require(early.remainder)
            _ = await backend.deliver(release, to: gateway, with: credential)
            #expect(count(await remainder.outcomes()) == [.accepted: 10])
            #expect(server.seen.count == 11)
            #expect(Set(server.seen.map(\.token)).count == 11)
        }
    }

    @Test func `a delivery that ends before it would return early returns all outcomes`() async throws {
        try await TestGateway.with(test: { server, gateway in
            try await withBackend { backend in
                let terms = DeliveryTerms(returnAfter: .seconds(60), permit: SendingPermit(for: .seconds(60)))
                let credential = try TestCredential.certificate()
                let delivered = await backend.deliver(batch(2000), to: gateway, with: credential, terms: terms)
                #expect(count(delivered.outcomes) == [.accepted: 2000])
                #expect(delivered.remainder == nil)
            }
        })
    }

    @Test func `a shutdown ends the remainder for all callers`() async throws {
        try await withHolding { server, gateway, backend, credential in
            let terms = DeliveryTerms(returnAfter: .milliseconds(100))
            let early = await backend.deliver(batch(10), to: gateway, with: credential, terms: terms)
            let remainder = try #require(early.remainder)
            async let first = remainder.outcomes()
            async let second = remainder.outcomes()
            await backend.shutdown()
            #expect(await first[3].verdict == .unknown)
            #expect(await second[3].verdict == .unknown)
            let later = await remainder.outcomes()
            for (position, outcome) in early.outcomes.enumerated() where outcome.verdict != .pending {
                #expect(later[position] == outcome)
            }
            #expect(!later.contains { $0.verdict == .pending })
        }
    }

    @Test func `the remainder ends after the last reference to the backend is gone`() async throws {
        try await TestGateway.with { seen in
            seen.token == "00000003" ? [] : [.answer(200)]
        } test: { server, gateway in
            var configuration = HTTP2Configuration.longTimeouts
            configuration.requestTimeout = .seconds(5)
            var backend: HTTP2Backend? = HTTP2Backend(configuration)
            let terms = DeliveryTerms(returnAfter: .milliseconds(100))
            let credential = try TestCredential.certificate()
            let early = await backend?.deliver(batch(10), to: gateway, with: credential, terms: terms)
            backend = nil
            let remainder = try #require(early?.remainder)
            #expect(count(await remainder.outcomes()) == [.accepted: 9, .unknown: 1])
        }
    }

    @Test func `cancelling a task that waits for the remainder stops sending`() async throws {
        try await TestGateway.withBackend(streams: 5) {
            $0.requestTimeout = .seconds(5)
        } _: { seen in
            seen.number <= 2 ? [.answer(200)] : []
        } test: { server, gateway, backend in
            let terms = DeliveryTerms(returnAfter: .milliseconds(100))
            let credential = try TestCredential.certificate()
            let early = await backend.deliver(batch(20), to: gateway, with: credential, terms: terms)
            let remainder = try #require(early.remainder)
            try await eventually { server.seen.count == 7 }
            let task = Task { await remainder.outcomes() }
            task.cancel()
            #expect(count(await task.value) == [.accepted: 2, .unknown: 5, .safe: 13])
            #expect(server.seen.count == 7)
        }
    }

    @Test func `when the permit ends, pushes that wait for a stream are safe and are not sent afterwards`() async throws
    {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            $0.maximumStreams = 5
            $0.delay = .seconds(4)
        } _: { simulator in
            let gateway = Gateway(host: "localhost", port: simulator.port, trust: .pem(simulator.rootPEM))
            let issued = try simulator.issueCertificate(topics: ["org.example.app"])
            let credential = try Credential(certificate: issued.certificate, privateKey: issued.privateKey)
            try await withBackend { backend in
                let warm = await backend.deliver(batch(1, digits: 64), to: gateway, with: credential)
                #expect(count(warm) == [.accepted: 1])
                // The answers free streams only when the permit is over.
                let terms = DeliveryTerms(
                    returnAfter: .milliseconds(100),
                    permit: SendingPermit(for: .milliseconds(1500))
                )
                let early = await backend.deliver(batch(20, digits: 64), to: gateway, with: credential, terms: terms)
                #expect(count(early.outcomes) == [.safe: 15, .pending: 5])
                let remainder = try #require(early.remainder)
                #expect(count(await remainder.outcomes()) == [.safe: 15, .accepted: 5])
                let later = await backend.deliver(batch(3, digits: 64), to: gateway, with: credential)
                #expect(count(later) == [.accepted: 3])
                let received = await simulator.receivedRequests()
                #expect(received.count == 1 + 5 + 3)
            }
        }
    }

    @Test func `with a revoked permit nothing is sent and no connection is made`() async throws {
        try await TestGateway.with(test: { server, gateway in
            try await withBackend { backend in
                let permit = SendingPermit(for: .seconds(60))
                permit.revoke()
                let terms = DeliveryTerms(permit: permit)
                let credential = try TestCredential.certificate()
                let delivered = await backend.deliver(batch(5), to: gateway, with: credential, terms: terms)
                #expect(count(delivered.outcomes) == [.safe: 5])
                #expect(delivered.outcomes.connectFailure == nil)
                #expect(server.connections == 0)
            }
        })
    }
}
