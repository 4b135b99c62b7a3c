import ApplePush
import ApplePushSimulator
import TestSupport
import Testing

/// What Apple allows to the last byte is accepted by the simulator as the library sends it.
@Suite struct AppleRequestTests {
    private static let token = String(repeating: "ab", count: 32)
    private static let app = "org.example.app"

    private func with(
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ test: (APNsSimulator, APNs) async throws -> Void
    ) async throws {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            try change(&$0)
        } _: { simulator in
            try await withBackend { backend in
                let connection = Session(backend: backend).connection(
                    to: simulator.gateway(),
                    credential: try TestCredential.providerToken()
                )
                try await test(simulator, APNs(connection))
            }
        }
    }

    @Test(arguments: PushType.all)
    func `the largest payload of each push type is accepted, and a larger one is not sent`(type: PushType) async throws
    {
        try await with { simulator, apns in
            let limit = type == .voip ? 5_120 : 4_096
            let messages = try [limit, limit + 1].map { size in
                let payload = #"{"a":""# + String(repeating: "x", count: size - 8) + #""}"#
                return try Message(tokens: [Self.token], payload: payload, pushType: type, topic: Self.app)
            }
            #expect(try await apns.send(messages[0]).accepted == 1)
            let error = await #expect(throws: PushError.self) { try await apns.send(messages[1]) }
            #expect(error?.message.contains("may have \(limit)") == true)
            #expect(await simulator.receivedRequests().map(\.payload.count) == [limit])
        }
    }

    @Test func `a push with each field at its limit is accepted`() async throws {
        try await with { simulator, apns in
            // 64 bytes, and half as many characters.
            let group = String(repeating: "ü", count: 32)
            let message = try Message(
                tokens: [String(repeating: "AB", count: 100)],
                alert: "Hello",
                priority: .low,
                collapseID: group,
                topic: String(repeating: "t", count: 255)
            )
            #expect(try await apns.send(message).accepted == 1)
            let arrived = try #require(await simulator.receivedRequests().first)
            #expect(arrived.token == message.tokens[0] && arrived.collapseID == group && arrived.priority == "1")
            #expect(arrived.apnsID == arrived.apnsID.lowercased())
        }
    }

    @Test func `an expiry is sent in seconds, 0 stands for one attempt, and without one there is no field`()
        async throws
    {
        try await with { simulator, apns in
            let expiries: [APNs.Expiry?] = [.at(1_900_000_000), .once, nil]
            for expiry in expiries {
                let message = try Message(tokens: [Self.token], alert: "Hello", expiry: expiry, topic: Self.app)
                #expect(try await apns.send(message).accepted == 1)
            }
            #expect(await simulator.receivedRequests().map(\.expiration) == ["1900000000", "0", nil])
        }
    }

    @Test func `in the sandbox each answer has a unique id, and the result tells it`() async throws {
        try await with {
            $0.environment = .sandbox
            $0.answers = [try AnswerRule(parsing: "ff=410")]
        } _: { _, apns in
            let tokens = [Self.token, String(repeating: "ff", count: 32)]
            let pushes = try await apns.send(try Message(tokens: tokens, alert: "Hello", topic: Self.app)).pushes
            #expect(pushes.map(\.status) == [200, 410])
            #expect(Set(pushes.compactMap(\.uniqueID)).count == 2)
            #expect(pushes.allSatisfy { $0.uniqueID != $0.id })
        }
    }
}
