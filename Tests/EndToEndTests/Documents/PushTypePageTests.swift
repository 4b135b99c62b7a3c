import ApplePush
import CarillonPostgres
import CarillonPushQueue
import CarillonTLS
import TestSupport
import Testing

/// docs/push-types.md. It states the topics that Apple requires, so nothing here is made of the table of push types.
@Suite(.queue) struct PushTypePageTests {
    /// The request of a push, without the fields that do not depend on its message.
    private static func request(_ push: RecordedBackend.Sent) -> String {
        let fields: [(String, String?)] = [
            ("apns-push-type", push.pushType.name), ("apns-topic", push.topic),
            ("apns-priority", push.priority.map { "\($0)" }), ("apns-expiration", push.expiration.map { "\($0)" }),
            ("apns-collapse-id", push.collapseID),
        ]
        return fields.map { name, value in value.map { "\(name): \($0)\n" } ?? "" }.joined() + "\n\(push.payload)\n"
    }

    @Test func `each statement of the page sends the request below it, and every push type has one`() async throws {
        let page = try GeneratedPage("docs/push-types.md").text
        let samples = page.matches(of: #/```sql\n((?:[^`]|`(?!``))*)```\n\n```http\n((?:[^`]|`(?!``))*)```/#)
        #expect(samples.count == page.matches(of: #/```sql\n/#).count)
        try await queue.addApp("acme", topic: "com.example.acme")
        // A certificate is not enough for all of them.
        try await queue.database.run(
            """
            UPDATE carillon.certificates SET certificate = NULL, private_key = '\(try SigningKey.generate().pem)',
                key_id = 'ABC123DEFG', team_id = 'DEF123GHIJ' WHERE name = 'acme'
            """
        )
        for app in page.matches(of: #/carillon app add (\w+) --topic (\S+)/#) {
            try await queue.addApp(String(app.output.1), topic: String(app.output.2))
        }
        var seen: Set<PushType> = []
        for sample in samples {
            let backend = RecordedBackend()
            try await queue.database.run(String(sample.output.1))
            try await queue.drain(backend)
            #expect(backend.sent.map(Self.request) == [String(sample.output.2)])
            seen.formUnion(backend.sent.map(\.pushType))
        }
        #expect(seen.filter { !$0.isCustom } == Set(PushType.all))
        #expect(seen.contains { $0.isCustom }, "a type that Apple has added since")
    }
}
