import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// docs/live-activities.md, and the arguments of docs/media-sessions.md.
@Suite(.queue) struct LiveActivityPageTests {
    @Test func `each statement of the page does what it says`() async throws {
        let statements = try GeneratedPage("docs/live-activities.md").statements
        #expect(statements.count == 6)
        try await queue.addApp("acme", topic: "com.example.acme")
        let backend = RecordedBackend()
        for statement in statements {
            try await queue.database.run(statement)
            try await queue.drain(backend)
        }
        let events = backend.sent.compactMap { push in
            push.payload.firstMatch(of: #/"event":"(\w+)"/#).map { "\($0.output.1) \(push.priority ?? 0)" }
        }
        #expect(events == ["start 10", "update 5", "update 10", "end 5"])
        #expect(Set(backend.sent.map(\.topic)) == ["com.example.acme.push-type.liveactivity"])
        #expect(
            try await queue.database.rows("SELECT state, sent FROM carillon.message_status(reference => 'order 7')")
                == ["(sent,1)"]
        )
    }

    @Test(arguments: [
        ("live-activities", "activity", "UNION SELECT unnest(carillon.token_kinds())", 31...100),
        ("media-sessions", "media", "", 18...18),
    ])
    func `the page names every argument and every kind`(
        page: String,
        subject: String,
        more: String,
        count: ClosedRange<Int>
    )
        async throws
    {
        let page = try GeneratedPage("docs/\(page).md").text
        let names = try await queue.database.rows(
            """
            SELECT DISTINCT a.name FROM pg_proc p, unnest(p.proargnames) AS a(name)
            WHERE p.pronamespace = 'carillon'::regnamespace
                AND p.proname IN ('start_\(subject)', 'update_\(subject)', 'end_\(subject)') \(more)
            """
        )
        #expect(count.contains(names.count))
        for name in names { #expect(page.contains("`\(name.dropFirst().dropLast())`"), "\(name)") }
    }
}
