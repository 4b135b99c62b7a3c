import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// docs/live-activities.md.
@Suite(.queue) struct LiveActivityPageTests {
    @Test func `each statement of the page does what it says`() async throws {
        let page = try GeneratedPage("docs/live-activities.md").text
        let statements = page.matches(of: #/```sql\n((?:[^`]|`(?!``))*)```/#).map { String($0.output.1) }
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

    @Test func `the page names every argument and every kind`() async throws {
        let page = try GeneratedPage("docs/live-activities.md").text
        let names = try await queue.database.rows(
            """
            SELECT DISTINCT a.name FROM pg_proc p, unnest(p.proargnames) AS a(name)
            WHERE p.pronamespace = 'carillon'::regnamespace
                AND p.proname IN ('start_activity', 'update_activity', 'end_activity')
            UNION SELECT unnest(carillon.token_kinds())
            """
        )
        #expect(names.count > 30)
        for name in names { #expect(page.contains("`\(name.dropFirst().dropLast())`"), "\(name)") }
    }
}
