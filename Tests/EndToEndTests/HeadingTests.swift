import ApplePush
import Postgres
import PushQueue
import Testing

/// What a push is sent with that its message does not say in so many words.
@Suite struct HeadingTests {
    private static func enqueue(_ queue: Queue, _ arguments: String) async throws {
        try await queue.run("SELECT carillon.enqueue('app', '{aa}', 'x'\(arguments))")
    }

    @Test(arguments: [
        ("voip", "NULL", "org.example.app.voip"), ("liveactivity", "NULL", "org.example.app.push-type.liveactivity"),
        ("background", "NULL", "org.example.app"), ("voip", "'org.example.other'", "org.example.other"),
    ])
    func `a push type has the topic that Apple derives for it, unless the message names one`(
        pushType: String,
        topic: String,
        expected: String
    ) async throws {
        try await Queue.with { queue in
            try await Self.enqueue(queue, ", push_type => '\(pushType)', topic => \(topic)")
            let backend = RecordedBackend()
            try await queue.drain(backend)
            #expect(backend.sent.map(\.topic) == [expected])
        }
    }

    @Test func `an app whose own topic is that of the push type adds nothing to it`() async throws {
        try await Queue.with { queue in
            try await queue.run("UPDATE carillon.apps SET topic = 'org.example.app.voip'")
            try await Self.enqueue(queue, ", push_type => 'voip'")
            let backend = RecordedBackend()
            try await queue.drain(backend)
            #expect(backend.sent.map(\.topic) == ["org.example.app.voip"])
        }
    }
}
