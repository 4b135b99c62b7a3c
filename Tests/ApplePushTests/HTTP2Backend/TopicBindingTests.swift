import ApplePush
import Testing

/// Topics that Apple has bound to a connection of a signing key, and those that were added to the key later.
@Suite struct TopicBindingTests {
    /// Sends ten pushes to a gateway whose first connection refuses each, and returns the statuses and how many connections were
    /// made.
    private func send(
        _ reason: String,
        with credential: Credential,
        bindingAge: Duration
    ) async throws -> (statuses: Set<UInt16>, connections: Int) {
        try await TestGateway.withBackend {
            $0.topicBindingAge = bindingAge
        } _: {
            $0.connection == 1 ? [.answer(400, #"{"reason":"\#(reason)"}"#)] : [.answer(200)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(10), to: gateway, with: credential)
            return (Set(outcomes.map(\.status)), server.connections)
        }
    }

    @Test(arguments: ["TopicDisallowed", "DeviceTokenNotForTopic"])
    func `a topic that an old connection refuses is tried on a fresh one`(reason: String) async throws {
        let (statuses, connections) = try await send(
            reason,
            with: try TestCredential.providerToken(),
            bindingAge: .zero
        )
        #expect(statuses == [200] && connections == 2)
    }

    @Test(arguments: ["TopicDisallowed", "DeviceTokenNotForTopic"])
    func `the refusal of a young connection is final`(reason: String) async throws {
        let (statuses, connections) = try await send(
            reason,
            with: try TestCredential.providerToken(),
            bindingAge: .seconds(600)
        )
        #expect(statuses == [400] && connections == 1)
    }

    @Test func `topics of a certificate do not change, so their refusal is final`() async throws {
        let (statuses, connections) = try await send(
            "TopicDisallowed",
            with: try TestCredential.certificate(),
            bindingAge: .zero
        )
        #expect(statuses == [400] && connections == 1)
    }

    @Test func `a topic that is malformed is not tried again`() async throws {
        let (statuses, connections) = try await send(
            "BadTopic",
            with: try TestCredential.providerToken(),
            bindingAge: .zero
        )
        #expect(statuses == [400] && connections == 1)
    }
}
