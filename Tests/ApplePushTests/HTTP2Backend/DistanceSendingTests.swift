import ApplePush
import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Sending to a distant gateway with Apple's windows.
@Suite struct DistanceSendingTests {
    private func withSimulator(
        _ distance: Duration,
        _ change: (inout HTTP2Configuration) -> Void,
        _ test: (APNsSimulator, Gateway, HTTP2Backend, Credential) async throws -> Void
    ) async throws {
        try await APNsSimulator.with({ $0.distance = distance }) { simulator in
            let credential = try simulator.credential()
            try await withBackend(change) { try await test(simulator, simulator.gateway(), $0, credential) }
        }
    }

    private let kilobytes = #"{"aps":{"alert":""# + String(repeating: "x", count: 4_000) + #""}}"#

    @Test func `pushes of 4 KB to a distant gateway are not unknown, not sent twice, and cost no connection`()
        async throws
    {
        try await withSimulator(.milliseconds(200)) {
            $0.connections = 4
            // All of them at once on one connection would take more than twice as long.
            $0.requestTimeout = .seconds(5)
        } _: { simulator, gateway, backend, credential in
            let batch = batch(1_000, digits: 64, payload: kilobytes)
            let outcomes = await backend.deliver(batch, to: gateway, with: credential)
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            let statistics = await simulator.statistics()
            #expect(statistics.requests == 1_000)
            // A busy machine may not need the fourth.
            #expect((2...4).contains(statistics.connections))
            #expect(backend.traffic.ends.isEmpty)
            #expect(backend.traffic.lateAnswers == 0)
        }
    }

    @Test func `the capacity is what the window takes, if that is the limit`() async throws {
        try await withSimulator(.milliseconds(50)) {
            $0.connections = 1
        } _: { _, gateway, backend, credential in
            let large = await backend.deliver(
                batch(200, digits: 64, payload: kilobytes),
                to: gateway,
                with: credential,
                terms: DeliveryTerms(returnAfter: .milliseconds(400))
            )
            let capacity = try #require(large.capacity)
            #expect((1...64).contains(capacity), "a window of 65,535 bytes has room for sixteen")
            _ = await large.remainder?.outcomes()
            let small = await backend.deliver(
                batch(3_000, digits: 64),
                to: gateway,
                with: credential,
                terms: DeliveryTerms()
            )
            #expect(small.outcomes.allSatisfy { $0.verdict == .accepted })
            #expect(small.capacity == 1_000)
        }
    }
}
