import ApplePush
import CarillonPostgres
import CarillonPushQueue
import Synchronization
import TestSupport
import Testing

/// What becomes of each outcome in the tables.
@Suite(.queue) struct RecordedOutcomeTests {
    private static let payload = #"{"aps":{"alert":"Hi"}}"#

    private func insert(_ queue: TestQueue, tokens: String, _ more: [(column: String, value: String)] = []) async throws
    {
        let columns = more.map { ", " + $0.column }.joined()
        let values = more.map { ", " + $0.value }.joined()
        try await queue.database.run(
            "INSERT INTO carillon.messages (app_id, tokens, payload\(columns)) "
                + "VALUES (1, '\(tokens)', '\(Self.payload)'\(values))"
        )
    }

    @Test func `a reference may be as long as its table takes`() async throws {
        let long = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 32) n)"
        try await insert(queue, tokens: "{aa}", [("reference", long)])
        try await insert(queue, tokens: "{bb}")
        let report = try await queue.drain(RecordedBackend { _ in .accepted })
        #expect(report.counters.total.sent == 2)
        #expect(try await queue.database.number("SELECT max(length(reference)) FROM carillon.results") == 1024)
    }

    @Test func `a message that is cut counts a token once, in upper and in lower case`() async throws {
        try await insert(queue, tokens: "{AB,ab,cd}")
        #expect(try await queue.database.number("SELECT carillon.split(1, 1::smallint, 1, 1)") == 2)
        _ = try await queue.drain(RecordedBackend { _ in .accepted })
        #expect(try await queue.database.rows("SELECT message_id, sent FROM carillon.results") == ["(1,2)"])
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
    }

    @Test func `each token ends as APNs says, and dead ones become feedback`() async throws {
        try await insert(queue, tokens: "{aa,bb,cc,dd}", [("reference", "'order 7'")])
        let backend = RecordedBackend { token in
            switch token {
            case "bb": .rejected(410, "Unregistered", timestamp: 1_700_000_000_123)
            case "cc": .rejected(400, "BadDeviceToken")
            case "dd": .rejected(418, "Teapot")
            default: .accepted
            }
        }
        let report = try await queue.drain(backend)
        #expect(report.counters.total.sent == 1)
        #expect(report.counters.total.failed == 3)
        #expect(
            try await queue.database.rows("SELECT message_id, reference, sent, failed, attempts FROM carillon.results")
                == [#"(1,"order 7",1,3,1)"#]
        )
        #expect(
            try await queue.database.rows(
                """
                SELECT message_id, token, status, reason, extract(epoch FROM unregistered_at) AS dead, attempt, reference
                FROM carillon.failures ORDER BY token
                """
            ) == [
                #"(1,bb,410,Unregistered,1700000000.123000,1,"order 7")"#,
                #"(1,cc,400,BadDeviceToken,,1,"order 7")"#,
                #"(1,dd,418,Teapot,,1,"order 7")"#,
            ]
        )
        let sent = backend.sent.first { $0.token == "bb" }
        #expect(
            try await queue.database.rows("SELECT apns_id FROM carillon.failures WHERE token = 'bb'")
                == ["(\(sent?.id.description ?? ""))"]
        )
        #expect(
            try await queue.database.rows("SELECT app_id, token, reason, source FROM carillon.feedback")
                == ["(1,bb,Unregistered,http2)"]
        )
    }

    @Test
    func `pushes that are safe to send again are sent after a moment, even by a worker that runs once`() async throws {
        try await insert(queue, tokens: "{aa,bb,cc}")
        let refusals = Refusals()
        let report = try await queue.drain(
            RecordedBackend { token in token != "aa" && refusals.isNext ? .safe : .accepted }
        )
        #expect(report.isClean)
        #expect(try await queue.database.rows("SELECT sent, failed, attempts FROM carillon.results") == ["(3,0,1)"])
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.scheduled") == 0)
    }

    @Test func `a throttled push is tried again later, as the same job and the same push`() async throws {
        try await insert(queue, tokens: "{aa}", [("collapse_id", "'x'")])
        let busy = RecordedBackend { _ in .rejected(429, "TooManyRequests", retryAfter: 60) }
        let report = try await queue.drain(busy) { $0.retry = RetryPolicy() }
        #expect(report.counters.total.retried == 1)
        #expect(
            try await queue.database.rows(
                """
                SELECT id, tokens, attempt, origin, collapse_id, run_at BETWEEN now() + '55 s' AND now() + '66 s' AS late
                FROM carillon.scheduled
                """
            ) == ["(1,{aa},2,,x,t)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 0)

        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
        let free = RecordedBackend()
        try await queue.drain(free)
        #expect(free.sent.map(\.id) == busy.sent.map(\.id))
        #expect(
            try await queue.database.rows("SELECT message_id, sent, attempts FROM carillon.results") == ["(1,1,2)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
    }

    @Test func `the row of results comes when the last token ends`() async throws {
        try await insert(queue, tokens: "{aa,bb,cc,dd}", [("reference", "'r'"), ("broadcast_id", "77")])
        let first = RecordedBackend { token in
            switch token {
            case "bb", "cc": .rejected(503, "ServiceUnavailable")
            case "dd": .rejected(410, "Unregistered")
            default: .accepted
            }
        }
        try await queue.drain(first)
        #expect(
            try await queue.database.rows("SELECT message_id, remaining, sent, failed FROM carillon.unfinished")
                == ["(1,2,1,1)"]
        )
        #expect(
            try await queue.database.rows(
                "SELECT tokens, attempt, origin, reference, broadcast_id FROM carillon.scheduled"
            )
                == [#"("{bb,cc}",2,1,r,77)"#]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 0)

        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
        let second = RecordedBackend { token in token == "cc" ? .rejected(500, "InternalServerError") : .accepted }
        try await queue.drain(second)
        #expect(
            try await queue.database.rows("SELECT remaining, sent, failed FROM carillon.unfinished") == ["(1,2,1)"]
        )

        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
        let third = RecordedBackend()
        try await queue.drain(third)
        #expect(
            try await queue.database.rows(
                "SELECT message_id, reference, broadcast_id, sent, failed, expired, attempts FROM carillon.results"
            ) == ["(1,r,77,3,1,0,3)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.unfinished") == 0)
        let id = first.sent.first { $0.token == "cc" }?.id
        #expect(third.sent.map(\.id) == [id].compactMap(\.self))
    }

    @Test func `attempts are limited by the app`() async throws {
        try await queue.database.run("UPDATE carillon.apps SET max_attempts = 2")
        try await insert(queue, tokens: "{aa}")
        let busy = RecordedBackend { _ in .rejected(503, "ServiceUnavailable") }
        try await queue.drain(busy)
        try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
        try await queue.drain(busy)
        #expect(try await queue.database.rows("SELECT sent, failed, attempts FROM carillon.results") == ["(0,1,2)"])
        #expect(
            try await queue.database.rows("SELECT status, reason, attempt FROM carillon.failures")
                == ["(503,ServiceUnavailable,2)"]
        )
    }

    @Test func `an unknown outcome is tried again, or fails where the message says so`() async throws {
        try await insert(queue, tokens: "{aa}")
        try await insert(queue, tokens: "{bb}", [("on_unknown", "'fail'")])
        let report = try await queue.drain(RecordedBackend { _ in .unknown })
        #expect(report.counters.total.unknown == 2)
        #expect(try await queue.database.rows("SELECT tokens, attempt FROM carillon.scheduled") == ["({aa},2)"])
        #expect(
            try await queue.database.rows("SELECT token, status, reason FROM carillon.failures") == [
                "(bb,,OutcomeUnknown)"
            ]
        )
    }

    @Test func `rows at the ends of the ranges end, whether their app exists or not`() async throws {
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (app_id, lane, tokens, payload)
            SELECT a.id, l.lane, '{aa}', '{"aps":{}}'
            FROM unnest('{-2147483648,2147483647}'::integer[]) AS a(id), unnest('{-32768,32767}'::smallint[]) AS l(lane)
            """
        )
        try await queue.drain()
        #expect(
            try await queue.database.rows(
                "SELECT app_id, reason, count(*) FROM carillon.failures GROUP BY 1, 2 ORDER BY 1"
            ) == ["(-2147483648,UnknownApp,2)", "(2147483647,UnknownApp,2)"]
        )
        try await queue.database.run(
            """
            UPDATE carillon.apps SET id = 2147483647;
            INSERT INTO carillon.messages (app_id, lane, tokens, payload) VALUES
                (2147483647, 32767, '{bb}', '{"aps":{}}'), (2147483647, -32768, '{cc}', '{"aps":{}}')
            """
        )
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(backend.sent.map(\.token).sorted() == ["bb", "cc"])
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.messages") == 0)
    }

    @Test func `tokens that are far too long fail each for itself`() async throws {
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, array_agg(repeat('Z', 5000) || i % 50), '{"aps":{}}' FROM generate_series(1, 100) i
            """
        )
        try await queue.drain()
        #expect(try await queue.database.rows("SELECT sent, failed FROM carillon.results") == ["(0,50)"])
        #expect(
            try await queue.database.rows(
                "SELECT count(DISTINCT token), min(reason), max(reason), max(octet_length(token)) <= 512 FROM carillon.failures"
            ) == ["(50,MalformedToken,MalformedToken,t)"]
        )
    }

    @Test(arguments: [
        ("tokens", "'{zz}'", "MalformedToken"),
        ("tokens", "'{abc}'", "MalformedToken"),
        ("tokens", "'{NULL}'", "MalformedToken"),
        ("tokens", "ARRAY['aa\r\nx: y']", "MalformedToken"),
        ("payload", "'[1]'", "MalformedPayload"),
        ("payload", "NULL", "PayloadEmpty"),
        ("payloads", "'{}'", "MismatchedPayloads"),
        ("payload", #"('{"a":"' || repeat('x', 4090) || '"}')::json"#, "PayloadTooLarge"),
        ("payload", #"('{"a":"' || repeat('x', 20000000) || '"}')::json"#, "PayloadTooLarge"),
        ("tokens", "ARRAY[repeat('a', 9000000)]", "MalformedToken"),
        ("topic", "'a b'", "MalformedTopic"),
        ("topic", "'org.example.other'", "TopicNotAllowed"),
        ("collapse_id", "repeat('x', 65)", "MalformedCollapseId"),
        ("collapse_id", "E'a\\nb'", "MalformedCollapseId"),
        ("priority", "7", "UnknownPriority"),
        ("push_type", "'shout'", "UnknownPushType"),
        ("on_unknown", "'Fail'", "MalformedOnUnknown"),
        ("on_unknown", "''", "MalformedOnUnknown"),
        ("app_id", "99", "UnknownApp"),
    ])
    func `a message that cannot be sent fails alone and harms no other`(
        column: String,
        value: String,
        reason: String
    ) async throws {
        var columns = [("app_id", "1"), ("tokens", "'{aa}'"), ("payload", "'\(Self.payload)'")]
        columns.removeAll { $0.0 == column }
        columns.append((column, value))
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (\(columns.map(\.0).joined(separator: ", ")))
            VALUES (\(columns.map(\.1).joined(separator: ", ")))
            """
        )
        try await insert(queue, tokens: "{ee}")
        let backend = RecordedBackend()
        try await queue.drain(backend)
        #expect(backend.sent.contains { $0.token == "ee" })
        #expect(
            try await queue.database.rows("SELECT message_id, status, reason FROM carillon.failures") == [
                "(1,,\(reason))"
            ]
        )
        #expect(
            try await queue.database.rows("SELECT message_id, sent, failed FROM carillon.results ORDER BY 1")
                == ["(1,0,1)", "(2,1,0)"]
        )
    }
}

/// Three, and then no more.
private final class Refusals: Sendable {
    private let left = Atomic(3)

    var isNext: Bool { left.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 }
}
