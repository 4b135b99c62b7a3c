import ApplePush
import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Sending to a distant gateway with Apple's windows.
@Suite struct DistanceSendingTests {
    @Test func `the capacity is what the window takes, if that is the limit`() async throws {
        try await APNsSimulator.with({ $0.distance = .milliseconds(50) }) { simulator in
            try await withBackend {
                $0.connections = 1
            } _: { backend in
                let (gateway, credential) = (simulator.gateway(), try simulator.credential())
                let kilobytes = #"{"aps":{"alert":""# + String(repeating: "x", count: 4_000) + #""}}"#
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
}
