import ApplePush
import TestSupport
import Testing

/// docs/media-sessions.md.
@Suite(.queue) struct MediaSessionPageTests {
    @Test func `each statement of the page does what it says`() async throws {
        let statements = try GeneratedPage("docs/media-sessions.md").statements
        #expect(statements.count == 4)
        try await queue.addApp("acme", topic: "com.example.acme")
        let backend = RecordedBackend()
        for statement in statements {
            try await queue.database.run(statement)
            try await queue.drain(backend)
        }
        let shown = backend.sent.compactMap { push in
            push.payload.wholeMatch(of: #/\{"aps":\{"timestamp":\d{10},"event":"(\w+)","attributes":(\{.*\})\}\}/#)
                .map { "\($0.output.1) \($0.output.2)" }
        }
        #expect(
            shown == [
                #"start {"id":"radio-7","title":"News at nine"}"#, #"update {"id":"radio-7","title":"The weather"}"#,
                #"end {"id":"radio-7"}"#,
            ]
        )
        #expect(Set(backend.sent.map(\.topic)) == ["com.example.acme.push-type.nowplaying"])
        #expect(Set(backend.sent.map(\.pushType)) == [.nowPlaying])
        #expect(backend.sent.allSatisfy { $0.priority == nil })
    }
}
