import ApplePush
import TLS
import Testing

/// The example of the documentation, as it stands there, against a gateway that answers.
@Suite struct DocumentationTests {
    @Test func `the example of the overview does what it says`() async throws {
        let tokens = ["a1b2", "c3d4", "e5f6"]
        var forgotten: [String] = []
        var repeated: [String] = []
        func forget(_ token: String, unlessRegisteredAfter timestamp: Int64?) { forgotten.append(token) }
        func later(_ message: Message) { repeated = message.tokens }
        let p8 = try SigningKey.generate().pem
        let backend = RecordedBackend { token in
            switch token {
            case "c3d4": .rejected(410, "Unregistered", timestamp: 1_700_000_000_000)
            case "e5f6": .rejected(503, "ServiceUnavailable")
            default: .delivered
            }
        }

        let session = Session(backend: backend)
        let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let apns = APNs(session.connection(to: .production, credential: credential))

        let message = try Message(
            tokens: tokens,
            alert: ["title": "Dinner", "body": "The soup is ready."],
            badge: 1,
            extra: ["table": 7],
            expiry: .after(.seconds(3600)),
            topic: "org.example.app"
        )
        let result = try await apns.send(message)

        for (token, failure) in result.failed { print("\(token): \(failure.reason)") }
        for report in result.feedback { forget(report.token, unlessRegisteredAfter: report.timestamp) }
        if let retry = result.retry() { later(retry) }

        await session.shutdown()

        #expect(forgotten == ["c3d4"])
        #expect(repeated == ["e5f6"])
        #expect(backend.sent.count == 3)
    }
}
