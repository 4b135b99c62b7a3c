import CarillonIO
import FoundationEssentials
import TestSupport
import Testing

@testable import ApplePushSimulator

/// Topics that are bound to a connection at its first push, over real sockets.
@Suite struct BoundTopicsTests {
    private static let disallowed = #"400 {"reason":"TopicDisallowed"}"#

    private func token(of provider: TestProvider) -> String {
        provider.authorization(issuedAt: Int64(Date().timeIntervalSince1970))
    }

    private func push(_ client: SimulatorClient, to topic: String, with token: String) async throws -> String {
        let request = SampleRequest(topic: topic, ["apns-push-type": "alert"])
        let answer = try await client.send([request], authorization: token).first
        return "\(answer?.status ?? 0) \(answer?.body ?? "")"
    }

    @Test
    func `a topic that is added to a key is refused on older connections, and accepted on new ones`() async throws {
        try await TestSimulator.with {
            $0.topics = ["com.old"]
            $0.bindsTokens = false
        } _: { simulator, _, loop in
            let token = token(of: try TestProvider())
            let old = try await SimulatorClient.connect(to: simulator, on: loop)
            #expect(try await push(old, to: "com.old", with: token) == "200 ")
            #expect(try await push(old, to: "com.new", with: token) == Self.disallowed)
            try await simulator.allow(topic: "com.new")
            #expect(try await push(old, to: "com.new", with: token) == Self.disallowed)
            #expect(try await push(old, to: "com.old", with: token) == "200 ")
            let new = try await SimulatorClient.connect(to: simulator, on: loop)
            #expect(try await push(new, to: "com.new", with: token) == "200 ")
        }
    }

    @Test func `a topic-specific key pushes to its topics only`() async throws {
        let provider = try TestProvider()
        try await TestSimulator.with {
            $0.providerKeys = [try provider.registered(topics: ["com.news"])]
            $0.bindsTokens = false
        } _: { simulator, _, loop in
            let client = try await SimulatorClient.connect(to: simulator, on: loop)
            let token = token(of: provider)
            #expect(try await push(client, to: "com.news", with: token) == "200 ")
            #expect(try await push(client, to: "com.mail", with: token) == Self.disallowed)
        }
    }

    @Test func `a topic that is allowed later by the configuration is bound in the same way`() async throws {
        try await TestSimulator.with {
            $0.topics = ["com.old"]
            $0.laterTopics = ["com.new": .milliseconds(1)]
            $0.bindsTokens = false
        } _: { simulator, _, loop in
            let token = token(of: try TestProvider())
            try await loop.eventually("the topic is allowed") {
                let client = try await SimulatorClient.connect(to: simulator, on: loop)
                return try await push(client, to: "com.new", with: token) == "200 "
            }
        }
    }

    @Test func `a text that is not a topic cannot be allowed`() async throws {
        try await TestSimulator.with {
            $0.topics = ["com.old"]
        } _: { simulator, _, _ in
            let error = await #expect(throws: SimulatorError.self) { try await simulator.allow(topic: "a/b") }
            #expect(error?.code == .badConfiguration)
        }
    }
}
