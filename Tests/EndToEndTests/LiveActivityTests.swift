import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Updates of Live Activities on their way from SQL to the gateway.
@Suite(.queue) struct LiveActivityTests {
    private static func call(_ queue: TestQueue, _ function: String) async throws {
        _ = try await queue.database.value("carillon.\(function)")
    }

    private static func payloads(_ backend: RecordedBackend) -> [String] {
        backend.sent.map(\.payload)
    }

    private static func stamps(_ backend: RecordedBackend) -> [Int] {
        payloads(backend).compactMap { $0.firstMatch(of: #/"timestamp":(\d+),/#).flatMap { Int($0.output.1) } }
    }

    private static func makeDue(_ queue: TestQueue) async throws {
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
    }

    @Test func `of several updates only the newest is sent, and the others end as superseded`() async throws {
        for level in 1...5 {
            try await Self.call(
                queue,
                "update_activity('app', '{aa}', '{\"level\": \(level)}', reference => 'r\(level)')"
            )
        }
        let backend = RecordedBackend()
        let summary = try await queue.drain(backend)
        let payloads = Self.payloads(backend)
        #expect(payloads.count == 1)
        #expect(payloads.first?.hasSuffix(#","event":"update","content-state":{"level":5}}}"#) == true)
        let now = try await queue.database.number("extract(epoch FROM now())")
        #expect(Self.stamps(backend).allSatisfy { (now - 600)...(now + 60) ~= $0 })
        #expect(
            try await queue.database.rows(
                "SELECT reference, sent, cancelled, last_reason, attempts FROM carillon.results ORDER BY reference"
            ) == (1...4).map { "(r\($0),0,1,Superseded,0)" } + ["(r5,1,0,,1)"]
        )
        #expect(
            try await queue.database.rows(
                "SELECT state, last_reason FROM carillon.message_status(reference => 'r1')"
            ) == ["(cancelled,Superseded)"]
        )
        #expect(summary.counters.total.superseded == 4)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.failures") == 0)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.updates") == 0)
    }

    @Test func `a retry is not sent after a newer update`() async throws {
        try await Self.call(queue, "update_activity('app', '{aa,bb}', '{\"level\": 1}', reference => 'old')")
        try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable") })
        try await Self.call(queue, "end_activity('app', '{aa}', '{\"level\": 2}')")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        try await Self.makeDue(queue)
        try await queue.drain(backend)
        #expect(Self.payloads(backend).map { $0.contains(#""level":2"#) } == [true, false])
        #expect(
            try await queue.database.rows(
                "SELECT sent, cancelled, attempts, last_reason FROM carillon.results WHERE reference = 'old'"
            ) == ["(1,1,2,Superseded)"]
        )
    }

    @Test func `every attempt of an update has the same payload, and the next update a later time`() async throws {
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 1}')")
        let first = RecordedBackend { _ in .rejected(503, "ServiceUnavailable") }
        try await queue.drain(first)
        try await Self.makeDue(queue)
        let second = RecordedBackend()
        try await queue.drain(second)
        #expect(Self.payloads(first).count == 1 && Self.payloads(first) == Self.payloads(second))
        var stamps = Self.stamps(second)
        for level in 2...4 {
            try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": \(level)}')")
            let next = RecordedBackend()
            try await queue.drain(next)
            stamps += Self.stamps(next)
        }
        #expect(stamps.count == 4 && zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 }, "\(stamps)")
    }

    @Test func `the clock of the database may be behind the last update`() async throws {
        try await Self.call(queue, "update_activity('app', '{aa}', '{}')")
        try await queue.drain()
        try await queue.database.run(
            "UPDATE carillon.update_stamps SET stamp = stamp + 3600, due_at = due_at + interval '1 hour'"
        )
        let last = try await queue.database.number("SELECT stamp FROM carillon.update_stamps")
        try await Self.call(queue, "update_activity('app', '{aa}', '{}')")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(Self.stamps(backend) == [last + 1])
    }

    @Test
    func `an update whose time would be ahead of the clock waits, and the newest of several is sent`() async throws {
        let backend = RecordedBackend()
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 1}')")
        try await queue.drain(backend)
        for level in 2...3 {
            // As after many updates within a second.
            try await queue.database.run(
                "UPDATE carillon.update_stamps SET stamp = floor(extract(epoch FROM clock_timestamp())) + 55"
            )
            try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": \(level)}')")
            try await queue.drain(backend)
        }
        #expect(Self.payloads(backend).count == 1)
        #expect(
            try await queue.database.rows(
                """
                SELECT s.attempt, s.run_at - s.created_at > '20 s' AND s.run_at - to_timestamp(a.stamp) < '30 s'
                FROM carillon.scheduled s CROSS JOIN carillon.update_stamps a
                """
            ) == ["(1,t)", "(1,t)"]
        )
        try await queue.database.run("UPDATE carillon.update_stamps SET stamp = stamp - 60")
        try await Self.makeDue(queue)
        let summary = try await queue.drain(backend)
        #expect(Self.payloads(backend).map { $0.contains(#""level":2"#) } == [false, false])
        #expect(summary.counters.total.superseded == 1)
        #expect(try await queue.database.number("SELECT sum(sent + cancelled) FROM carillon.results") == 3)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.updates") == 0)
    }

    @Test
    func `an end is final: what is enqueued after it is not sent, whether the end waits or was sent`() async throws {
        try await Self.call(queue, "end_activity('app', '{aa}', '{\"level\": 1}', reference => 'end')")
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 2}', reference => 'late')")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 3}', reference => 'later')")
        try await queue.drain(backend)
        #expect(Self.payloads(backend).map { $0.contains(#""event":"end""#) } == [true])
        #expect(
            try await queue.database.rows("SELECT reference, sent, last_reason FROM carillon.results ORDER BY 1")
                == ["(end,1,)", "(late,0,Superseded)", "(later,0,Superseded)"]
        )
    }

    @Test func `an end that comes back for a retry is sent, though an update was enqueued meanwhile`() async throws {
        try await Self.call(queue, "end_activity('app', '{aa}', '{\"level\": 1}')")
        try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable") })
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 2}')")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(Self.payloads(backend).isEmpty)
        try await Self.makeDue(queue)
        try await queue.drain(backend)
        #expect(Self.payloads(backend).map { $0.contains(#""event":"end""#) } == [true])
    }

    @Test func `an update that has expired replaces none`() async throws {
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 1}')")
        try await Self.call(
            queue,
            "update_activity('app', '{aa}', '{\"level\": 2}', expires_at => now() + interval '1 hour')"
        )
        try await queue.database.run(
            "UPDATE carillon.messages SET expires_at = now() - interval '1 s' WHERE expires_at > now()"
        )
        try await queue.database.run(
            "UPDATE carillon.updates SET expires_at = now() - interval '1 s' WHERE expires_at > now()"
        )
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(Self.payloads(backend).map { $0.contains(#""level":1"#) } == [true])
    }

    @Test
    func `the newest update is sent when it comes back, though an older one was committed meanwhile`() async throws {
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 2}')")
        // As if its transaction had been open since before: the id and the time are lower.
        try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable") })
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 1}')")
        try await queue.database.run(
            """
            UPDATE carillon.messages SET id = 0;
            UPDATE carillon.updates SET message_id = 0, due_at = due_at - interval '1 hour'
            """
        )
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(Self.payloads(backend).isEmpty)
        try await Self.makeDue(queue)
        try await queue.drain(backend)
        #expect(Self.payloads(backend).map { $0.contains(#""level":2"#) } == [true])
    }

    @Test func `a message that is superseded in part is sent to its other tokens`() async throws {
        try await Self.call(queue, "update_activity('app', '{aa,bb,cc}', '{\"level\": 1}', reference => 'old')")
        try await Self.call(queue, "update_activity('app', '{bb}', '{\"level\": 2}', reference => 'new')")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(Self.payloads(backend).count { $0.contains(#""level":1"#) } == 2)
        #expect(Self.payloads(backend).count { $0.contains(#""level":2"#) } == 1)
        #expect(
            try await queue.database.rows("SELECT reference, sent, cancelled FROM carillon.results ORDER BY 1")
                == ["(new,1,0)", "(old,2,1)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
    }

    @Test func `a scheduled update replaces those before it once it is due`() async throws {
        try await Self.call(
            queue,
            "update_activity('app', '{aa}', '{\"level\": 3}', run_at => now() + interval '1 hour')"
        )
        try await Self.call(queue, "update_activity('app', '{aa}', '{\"level\": 1}')")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(Self.payloads(backend).map { $0.contains(#""level":1"#) } == [true])
    }

    @Test func `a start and a row of a plain INSERT get the time, and other payloads go byte for byte`() async throws {
        try await Self.call(queue, "start_activity('app', '{aa}', 'A', '{}', '{}', 'x')")
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, push_type) SELECT a.id, '{aa}', p, t
            FROM carillon.apps a, (VALUES ('{"aps":{"timestamp":0,"event":"update"}}'::json, 'liveactivity'),
                ('{"aps":{"timestamp":0,"event":"update"}}', 'alert'),
                ('{"aps":{"timestamp": 0,"event":"update"}}', 'liveactivity')) AS v(p, t)
            """
        )
        let backend = RecordedBackend()
        try await queue.drain(backend)
        let payloads = Self.payloads(backend)
        #expect(payloads.count == 4)
        #expect(payloads.count { $0.contains(#""timestamp":0,"#) } == 1)
        #expect(payloads.count { $0.contains(#""timestamp": 0,"#) } == 1)
        #expect(Self.stamps(backend).filter { $0 > 0 }.count == 2)
    }
}
