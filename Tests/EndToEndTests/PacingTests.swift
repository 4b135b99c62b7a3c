import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Background pushes of an app with `max_per_device`.
@Suite struct PacingTests {
    private static func with(_ maxPerDevice: Int, _ body: (TestQueue) async throws -> Void) async throws {
        try await TestQueue.with { queue in
            try await queue.database.run("UPDATE carillon.apps SET max_per_device = \(maxPerDevice)")
            try await body(queue)
        }
    }

    private static func enqueue(_ queue: TestQueue, _ names: [String], tokens: String = "{aa}", _ more: String = "")
        async throws
    {
        for name in names {
            try await queue.database.run(
                """
                SELECT carillon.enqueue('app', '\(tokens)', content_available => true, reference => '\(name)'\(more))
                """
            )
        }
    }

    /// So much time passes.
    private static func pass(_ interval: String, _ queue: TestQueue) async throws {
        try await queue.database.connection.script(
            """
            UPDATE carillon.device_slots d SET last_at = last_at - interval '\(interval)', slots = ARRAY(
                SELECT ROW(s.at - interval '\(interval)', s.message_id, s.meaning)::carillon.device_slot
                FROM unnest(d.slots) AS s);
            UPDATE carillon.scheduled SET run_at = run_at - interval '\(interval)'
            """
        )
    }

    private static func results(_ queue: TestQueue) async throws -> [String] {
        try await queue.database.rows(
            "SELECT reference, sent, cancelled, last_reason FROM carillon.results ORDER BY reference, message_id"
        )
    }

    @Test func `a device gets so many an hour, and of those that wait the newest replaces the others`() async throws {
        try await Self.with(2) { queue in
            let backend = RecordedBackend()
            try await Self.enqueue(queue, ["a", "b", "c", "d", "e"])
            let summary = try await queue.drain(backend)
            #expect(backend.sent.count == 2)
            #expect(
                try await Self.results(queue) == ["(a,1,0,)", "(b,1,0,)", "(c,0,1,Superseded)", "(d,0,1,Superseded)"]
            )
            #expect(summary.counters.total.superseded == 2)
            let wait = "SELECT extract(epoch FROM run_at - now())::int / 60 FROM carillon.scheduled"
            #expect((58...60).contains(try await queue.database.number(wait)))
            // One that comes later replaces it in the queue, and takes its time.
            try await Self.pass("20 minutes", queue)
            try await Self.enqueue(queue, ["f"])
            try await queue.drain(backend)
            #expect(try await Self.results(queue).contains("(e,0,1,Superseded)"))
            #expect((38...40).contains(try await queue.database.number(wait)))
            #expect(
                try await queue.database.rows(
                    "SELECT state, last_reason FROM carillon.message_status(reference => 'e')"
                ) == ["(cancelled,Superseded)"]
            )
            try await Self.pass("41 minutes", queue)
            try await queue.drain(backend)
            #expect(try await Self.results(queue).last == "(f,1,0,)")
            #expect(backend.sent.count == 3)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.pending") == 0)
        }
    }

    @Test
    func `pushes with another collapse id or payload mean something else, and each waits for its turn`() async throws {
        try await Self.with(1) { queue in
            let backend = RecordedBackend()
            try await Self.enqueue(queue, ["a"])
            try await Self.enqueue(
                queue,
                ["b", "c"],
                ", collapse_id => 'mail', extra => jsonb_build_object('n', random())"
            )
            try await Self.enqueue(queue, ["d"], ", extra => '{\"k\": 1}'")
            try await queue.drain(backend)
            #expect(try await Self.results(queue) == ["(a,1,0,)", "(b,0,1,Superseded)"])
            for expected in [2, 3] {
                try await Self.pass("61 minutes", queue)
                try await queue.drain(backend)
                #expect(backend.sent.count == expected)
            }
            #expect(try await Self.results(queue).suffix(2) == ["(c,1,0,)", "(d,1,0,)"])
        }
    }

    @Test func `only the devices that had enough wait, and a message of many ends once`() async throws {
        try await Self.with(1) { queue in
            let backend = RecordedBackend()
            try await Self.enqueue(queue, ["a"], tokens: "{aa,bb}")
            try await Self.enqueue(queue, ["b"], tokens: "{bb,cc,dd}")
            try await queue.drain(backend)
            #expect(backend.sent.map(\.token).sorted() == ["aa", "bb", "cc", "dd"])
            try await Self.enqueue(queue, ["c"], tokens: "{bb,ee}")
            try await queue.drain(backend)
            #expect(try await Self.results(queue) == ["(a,2,0,)", "(b,2,1,Superseded)"])
            try await Self.pass("61 minutes", queue)
            try await queue.drain(backend)
            #expect(try await Self.results(queue).last == "(c,2,0,)")
        }
    }

    @Test func `a push that is attempted again keeps its place`() async throws {
        try await Self.with(1) { queue in
            try await Self.enqueue(queue, ["a"])
            try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable") })
            try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
            let backend = RecordedBackend()
            try await queue.drain(backend)
            #expect(backend.sent.count == 1)
            #expect(try await Self.results(queue) == ["(a,1,0,)"])
        }
    }

    @Test func `a waiting push can be cancelled, and one that expires first ends as expired`() async throws {
        try await Self.with(1) { queue in
            let backend = RecordedBackend()
            try await Self.enqueue(queue, ["a", "b"])
            try await queue.drain(backend)
            #expect(
                try await queue.database.number(
                    "carillon.cancel((SELECT coalesce(origin, id) FROM carillon.scheduled))"
                ) == 1
            )
            // The time of the cancelled one is free for the next.
            try await Self.enqueue(queue, ["c"], ", expires_at => now() + interval '30 minutes'")
            try await queue.drain(backend)
            try await Self.pass("61 minutes", queue)
            try await queue.database.run("UPDATE carillon.scheduled SET expires_at = now()")
            try await queue.drain(backend)
            #expect(backend.sent.count == 1)
            #expect(
                try await queue.database.rows(
                    "SELECT reference, sent, expired, cancelled FROM carillon.results ORDER BY reference"
                )
                    == ["(a,1,0,0)", "(b,0,0,1)", "(c,0,1,0)"]
            )
        }
    }

    @Test func `other push types and other apps are not paced`() async throws {
        try await Self.with(1) { queue in
            try await queue.addApp("free", topic: "org.example.app")
            let backend = RecordedBackend()
            for app in ["app", "free"] {
                let content = app == "app" ? "'x'" : "content_available => true"
                for _ in 1...3 { try await queue.database.run("SELECT carillon.enqueue('\(app)', '{aa}', \(content))") }
            }
            try await queue.drain(backend)
            #expect(backend.sent.count == 6)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.device_slots") == 0)
        }
    }
}
