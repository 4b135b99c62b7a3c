import CarillonIO
import TestSupport
import Testing

/// Most messages skip the closer checks of `enqueue`. The result is the same; only the time differs.
@Suite(.demo) struct PlainMessageTests {
    /// Naming the lane changes nothing, except that all checks are made. A message to more than 1,000 tokens has another lane.
    @Test func `a message that skips checks is the one that they would have made`() async throws {
        try await database.addBinaryApp()
        try await Fuzzing.seeds(20) { seed in
            var random = SeededGenerator(seed: seed)
            let calls = (0..<80).map { _ in RandomCall(using: &random) }.filter { !$0.tokens.contains("1001") }
            try await database.expectEqual(calls.map { ($0.enqueue(), $0.enqueue("lane => 1")) }, "seed \(seed)")
        }
    }

    @Test func `random calls have each argument of enqueue`() async throws {
        let arguments = try await database.rows(
            """
            SELECT DISTINCT n.name FROM pg_proc p, unnest(p.proargnames) AS n(name)
            WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'enqueue'
            """
        )
        let known = ["app", "tokens", "lane"] + RandomCall.values.keys
        #expect(Set(arguments).symmetricDifference(known.map { "(\($0))" }) == [])
    }

    /// Each has a value that is stored, or that is refused because of its content or of the other argument. That a call is strict
    /// changes nothing for a token.
    @Test(arguments: [("alert", "'x'"), ("payload", #"'{"aps":{"alert":"x"}}'"#)])
    func `no argument is ignored in a message that would be plain without it`(plain: String, value: String)
        async throws
    {
        let usual = try await database.outcomes(of: ["enqueue('demo', '{ab}', \(plain) => \(value))"])
        for (name, drawn) in RandomCall.values where name != "strict" {
            let calls = drawn.values.map { given in
                let arguments = [plain: value].merging([name: given]) { $1 }.map { "\($0) => \($1)" }
                return "enqueue('demo', '{ab}', \(arguments.joined(separator: ", ")))"
            }
            let outcomes = Set(try await database.outcomes(of: calls))
            #expect(!outcomes.subtracting(usual + ["no such function"]).isEmpty, "\(name)")
        }
    }

    @Test func `enqueue and push do the same with standard_conforming_strings off`() async throws {
        try await database.addBinaryApp()
        try await Fuzzing.seeds(10) { seed in
            var random = SeededGenerator(seed: seed)
            let calls = (0..<80).map { _ in RandomCall(using: &random) }
            try await database.expectEqualWithStringsOff(
                calls.flatMap { [$0.enqueue(), $0.push(["payload"]), $0.push(["alert", "badge", "sound"])] },
                "seed \(seed)"
            )
        }
    }

    @Test func `plain messages are stored as given`() async throws {
        let calls: [(String, String)] = [
            (
                #"'Say "no"', badge => 1, sound => 'default'"#,
                #"{"aps":{"alert":"Say \"no\"","badge":1,"sound":"default"}}"#
            ),
            ("title => 'A', body => 'B'", #"{"aps":{"alert":{"title":"A","body":"B"}}}"#),
            ("'x', category => 'c', thread_id => 't'", #"{"aps":{"alert":"x","category":"c","thread-id":"t"}}"#),
            (
                "'x', content_available => true, mutable_content => true",
                #"{"aps":{"alert":"x","content-available":1,"mutable-content":1}}"#
            ),
            (#"'x', extra => '{"order": 7}'"#, #"{"aps":{"alert":"x"},"order":7}"#),
            ("'x', extra => '{}'", #"{"aps":{"alert":"x"}}"#),
            (#"'{"title": "A: b"}'::jsonb, badge => 0"#, #"{"aps":{"alert":{"title":"A: b"},"badge":0}}"#),
            (#"payload => ' { "aps": {"alert": "x"}}'"#, #" { "aps": {"alert": "x"}}"#),
            (#"payload => '{"aps": {"alert": "x"}}'::jsonb"#, #"{"aps":{"alert":"x"}}"#),
        ]
        for (arguments, payload) in calls {
            let expected = try await database.value(
                """
                SELECT '1001 ' || ROW(1001, 1, 1, '{ab}'::text[], $p$\(payload)$p$::json, NULL, 'alert', NULL, NULL, NULL,
                    NULL, 'r', 'retry', NULL)::text
                """
            )
            let call = "enqueue('demo', '{AB}', \(arguments), reference => 'r')"
            #expect(try await database.outcomes(of: [call]).first == expected, "\(arguments)")
        }
    }
}
