import ApplePush
import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Permits and early returns over real sockets.
@Suite struct DeliveryTermsTests {
    @Test func `a shutdown ends the remainder for all callers`() async throws {
        try await TestGateway.withBackend { seen in
            seen.token == "00000003" ? [] : [.answer(200)]
        } test: { server, gateway, backend in
            let terms = DeliveryTerms(returnAfter: .milliseconds(100))
            let credential = try TestCredential.certificate()
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
}
