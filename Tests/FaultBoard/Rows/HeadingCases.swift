import ApplePushSimulator
import CarillonIO
import Glibc
import Testing

/// Columns that become headers, and numbers at the limits of their columns.
@Suite struct HeadingCases {
    private static let bad: [(column: String, value: String, reason: String)] = [
        ("topic", "'a b'", "MalformedTopic"), ("topic", #"E'a\r\napns-priority: 10'"#, "MalformedTopic"),
        ("topic", "'tüpic'", "MalformedTopic"), ("topic", "E'a\\x7f'", "MalformedTopic"),
        ("collapse_id", #"E'a\r\napns-topic: b'"#, "MalformedCollapseId"),
        ("collapse_id", "repeat('x', 65)", "MalformedCollapseId"),
        ("collapse_id", "repeat('ü', 33)", "MalformedCollapseId"), ("collapse_id", "' a'", "MalformedCollapseId"),
        ("collapse_id", "'a '", "MalformedCollapseId"), ("collapse_id", "E'\\x01'", "MalformedCollapseId"),
        ("collapse_id", "E'\\x7f'", "MalformedCollapseId"), ("collapse_id", "E'a\\tb'", "MalformedCollapseId"),
        ("collapse_id", "repeat('x', 255)", "MalformedCollapseId"), ("priority", "0", "UnknownPriority"),
        ("priority", "-1", "UnknownPriority"), ("priority", "9", "UnknownPriority"),
        ("priority", "11", "UnknownPriority"),
        // Its last eight bits are a 10.
        ("priority", "266", "UnknownPriority"), ("priority", "32767", "UnknownPriority"),
        ("priority", "-32768", "UnknownPriority"), ("push_type", "''", "UnknownPushType"),
        ("push_type", "'ALERT'", "UnknownPushType"), ("push_type", "'alert '", "UnknownPushType"),
        ("push_type", #"E'alert\r\nx: y'"#, "UnknownPushType"),
        ("push_type", "repeat('x', 255)", "UnknownPushType"),
        // The value is ambiguous: the caller may want at most one send.
        ("on_unknown", "''", "MalformedOnUnknown"), ("on_unknown", "'Fail'", "MalformedOnUnknown"),
        ("on_unknown", "'never'", "MalformedOnUnknown"), ("on_unknown", "repeat('x', 255)", "MalformedOnUnknown"),
    ]

    private static let rejected = [
        OddRow([("push_type", "'background'"), ("priority", "10")], .refused("UnknownPriority")),
        OddRow([("push_type", "'background'"), ("priority", "1")], .refused("UnknownPriority")),
        OddRow([("push_type", "'liveactivity'"), ("priority", "1")], .refused("UnknownPriority")),
        OddRow("topic", "'com.example.stranger'", .refused("TopicNotAllowed")),
        OddRow("topic", "'a/b'", .rejected("400 BadTopic")),
        Self.disallowed,
    ]

    private static let disallowed = OddRow("push_type", "'voip'", .rejected("400 TopicDisallowed"))

    private static let fine = [
        OddRow("collapse_id", "repeat('ü', 32)", .sent), OddRow("collapse_id", "''", .sent),
        OddRow("collapse_id", "'a''b\"c\\d; --'", .sent), OddRow("priority", "1", .sent),
        OddRow("push_type", "'mdm'", .sent), OddRow("expires_at", "'infinity'", .sent),
        OddRow("expires_at", "'294276-12-31'", .sent), OddRow("expires_at", "'9999-12-31'", .sent),
        OddRow("expires_at", "'epoch'", .sent),
        OddRow("expires_at", "'-infinity'", .expired), OddRow("expires_at", "'4713-01-01 BC'", .expired),
        OddRow("expires_at", "'1969-12-31 23:59:59Z'", .expired), OddRow("expires_at", "now()", .expired),
    ]

    @Test(.scene) func `P4: malformed header values are refused, and no byte of them is sent`() async throws {
        try await scene.client.run("UPDATE carillon.apps SET topics = '{a/b}'")
        let bad = Self.bad.map { OddRow($0.column, $0.value, .refused($0.reason)) }
        try await scene.digest(bad + Self.rejected + Self.fine)
        let known: Set<String?> = [Scene.topic, Scene.topic + ".voip", "a/b"]
        for delivery in scene.record.deliveries {
            #expect(known.contains(delivery.topic))
            for value in [delivery.priority, delivery.expiration].compactMap(\.self) {
                #expect(value.allSatisfy { $0.isWholeNumber }, "\(value)")
            }
            #expect(delivery.authorization == nil)
        }
    }

    @Test(.scene) func `P4: a whole claim of rows that the gateway refuses delays no other claim`() async throws {
        for _ in 1...30 { try await scene.insert(Self.disallowed) }
        try await scene.fleet.started()
        try await scene.drained()
        try await scene.enqueue(30)
        try await scene.finish()
    }

    /// Values that an application can write and should not, each in a row of its own.
    private static let numbers: [(column: String, value: String)] = [
        ("lane", "-32768"), ("lane", "-1"), ("lane", "3"), ("lane", "32767"), ("attempt", "0"), ("attempt", "-32768"),
        ("attempt", "32767"), ("lost_claims", "32767"), ("lost_claims", "-32768"),
        ("unknown_attempts", "32767"), ("unknown_attempts", "-32768"), ("broadcast_id", "-1"),
        ("broadcast_id", "9223372036854775807"), ("created_at", "'infinity'"), ("created_at", "'-infinity'"),
        ("created_at", "'4713-01-01 BC'"), ("created_at", "'294276-12-31'"), ("id", "0"), ("id", "-1"),
        ("id", "-9223372036854775808"), ("id", "9223372036854775807"), ("origin", "4711"), ("origin", "-1"),
        ("origin", "9223372036854775807"),
    ]

    private static var oddNumbers: [OddRow] {
        Self.numbers.map { OddRow($0.column, $0.value, .sent) }
    }

    @Test(.scene) func `P4: numbers and times at their limits are sent like any other`() async throws {
        try await scene.digest(Self.oddNumbers)
    }

    @Test func `P4: numbers at their limits are retried like any other, until attempts are used up`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "*=503*1")] }) { scene in
            try await scene.digest(
                Self.numbers.map { number in
                    let isUsedUp = number.column == "attempt" && number.value == "32767"
                    return OddRow(number.column, number.value, isUsedUp ? .rejected("503 ServiceUnavailable") : .sent)
                }
            )
        }
    }

    @Test func `P4: numbers at their limits are taken over like any other`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "*=silence*1")] }) { scene in
            let victim = try await scene.fleet.started()
            // Lanes have claims of their own, and jobs that have failed often are in quarantine, one at a time.
            let rows = Self.oddNumbers.filter { !$0.columns.contains { $0.name == "lane" } }
            var messages: [Ledger.Message] = []
            for row in rows { messages.append(try await scene.insert(row)) }
            // The gateway is silent once for each token. For rows without another attempt that must be now.
            let last = zip(rows, messages).filter { row, _ in
                row.columns.contains { $0 == ("attempt", "32767") || $0 == ("unknown_attempts", "32767") }
            }
            .flatMap(\.1.tokens)
            try #require(last.count == 2)
            try await scene.eventually("the worker has claimed and sent what it can") {
                let sent = Set(scene.record.deliveries.map(\.token))
                return try await scene.client.number("SELECT count(*) FROM carillon.inflight") > 0
                    && sent.isSuperset(of: last)
            }
            victim.kill()
            try await victim.end()
            try await scene.enqueue(20)
            try await scene.fleet.started(["--request-timeout", Board.sized("5s", full: "1s")])
            // What was in flight was never answered: nothing is accepted twice.
            try await scene.finish(localReasons: ["Poison"])
        }
    }
}
