import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// What a push is sent with that its message does not say in so many words.
@Suite(.queue) struct HeadingTests {
    private static func enqueue(_ queue: TestQueue, _ arguments: String) async throws {
        let payload = #"{"aps":{"content-available":1}}"#
        try await queue.database.run("SELECT carillon.enqueue('app', '{aa}', payload => '\(payload)'\(arguments))")
    }

    @Test(arguments: [
        ("voip", "NULL", "org.example.app.voip"), ("liveactivity", "NULL", "org.example.app.push-type.liveactivity"),
        ("background", "NULL", "org.example.app"), ("voip", "'org.example.other.voip'", "org.example.other.voip"),
    ])
    func `a push type has the topic that Apple derives for it, unless the message names one`(
        pushType: String,
        topic: String,
        expected: String
    ) async throws {
        try await queue.database.run("UPDATE carillon.apps SET topics = '{org.example.other}'")
        try await Self.enqueue(queue, ", push_type => '\(pushType)', topic => \(topic)")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(backend.sent.map(\.topic) == [expected])
    }

    @Test func `an app whose own topic is that of the push type adds nothing to it`() async throws {
        try await queue.database.run("UPDATE carillon.apps SET topic = 'org.example.app.voip'")
        try await Self.enqueue(queue, ", push_type => 'voip'")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(backend.sent.map(\.topic) == ["org.example.app.voip"])
    }

    @Test func `a push that expires at the epoch is sent, and APNs is told not to store it`() async throws {
        try await Self.enqueue(queue, ", expires_at => 'epoch'")
        try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable") })
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(backend.sent.map(\.expiration) == [0])
        #expect(try await queue.database.rows("SELECT sent, expired, attempts FROM carillon.results") == ["(1,0,2)"])
    }

    @Test func `a message that expires at the epoch may be scheduled and requeued`() async throws {
        try await Self.enqueue(queue, ", expires_at => 'epoch', run_at => now() + interval '1 hour'")
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
        try await queue.drain(RecordedBackend { _ in .rejected(400, "BadTopic") })
        #expect(try await queue.database.number("carillon.requeue_failures('app')") == 1)
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(backend.sent.map(\.expiration) == [0])
    }
}
