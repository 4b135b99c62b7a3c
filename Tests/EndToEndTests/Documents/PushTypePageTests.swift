import ApplePush
import CarillonPostgres
import CarillonPushQueue
import CarillonTLS
import TestSupport
import Testing

/// docs/push-types.md.
@Suite(.queue) struct PushTypePageTests {
    @Test func `each statement of the page sends the payload below it, and every push type has one`() async throws {
        let page = try GeneratedPage("docs/push-types.md").text
        let samples = page.matches(of: #/```sql\n((?:[^`]|`(?!``))*)```\n\n```json\n([^\n]*)\n```/#)
        try await queue.addApp("acme", topic: "com.example.acme")
        // A certificate is not enough for all of them.
        try await queue.database.run(
            """
            UPDATE carillon.certificates SET certificate = NULL, private_key = '\(try SigningKey.generate().pem)',
                key_id = 'ABC123DEFG', team_id = 'DEF123GHIJ' WHERE name = 'acme';
            UPDATE carillon.apps SET topics = '{com.apple.mgmt.External.18a16429-886b-41f1-9c30-2bd04ae4fc37}'
            WHERE name = 'acme'
            """
        )
        var seen: Set<String> = ["(alert)", "(liveactivity)"]
        for sample in samples {
            let backend = RecordedBackend()
            try await queue.database.run(String(sample.output.1))
            try await queue.drain(backend)
            #expect(backend.sent.map(\.payload) == [String(sample.output.2)])
            let push = try #require(backend.sent.first)
            seen.insert("(\(push.pushType.name))")
            let suffix = try await queue.database.value(
                "SELECT topic_suffix FROM carillon.push_types() WHERE push_type = '\(push.pushType.name)'"
            )
            if push.pushType != .mdm { #expect(push.topic == "com.example.acme\(suffix ?? "")") }
        }
        let all = try await queue.database.rows(
            "SELECT push_type FROM carillon.push_types() WHERE push_type <> 'channel'"
        )
        #expect(seen == Set(all))
    }
}
