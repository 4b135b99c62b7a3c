import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// `push` is `enqueue` with few arguments, and `push_each` is `push` for many messages.
@Suite(.demo) struct PushTests {
    private static let alert = ["alert", "badge", "sound"]

    @Test func `push stores or refuses what enqueue does with each payload`() async throws {
        try await database.addBinaryApp()
        var pairs: [(String, String)] = []
        for app in ["'demo'", "'binary'", "'nope'"] {
            for payload in RandomCall.payloads.flatMap({ [$0, "(\($0))::text"] }) {
                pairs.append(("push(\(app), '{ab}', \(payload))", "enqueue(\(app), '{ab}', payload => \(payload))"))
            }
        }
        let others = [#"'{"aps": {"alert": "x: y"}}'::jsonb"#, #"'{"aps": {"alert": "x"}}'::json"#, "7", "NULL::jsonb"]
        for payload in others {
            pairs.append(("push('demo', '{ab}', \(payload))", "enqueue('demo', '{ab}', payload => \(payload))"))
        }
        try await database.expectEqual(pairs, "a payload")
        let outcomes = try await database.outcomes(of: pairs.map(\.0))
        #expect(outcomes.filter { $0.hasPrefix("1001 (") }.count > 40)
        #expect(Set(outcomes).count > 30)
    }

    @Test func `push stores or refuses what enqueue does with the same arguments`() async throws {
        try await database.addBinaryApp()
        try await Fuzzing.seeds(10) { seed in
            var random = SeededGenerator(seed: seed)
            let calls = (0..<80).map { _ in RandomCall(using: &random) }
            let pairs = calls.flatMap { call in
                [
                    (call.push(["payload"]), call.enqueue(only: ["payload"])),
                    (call.push(Self.alert), call.enqueue(only: Self.alert)),
                ]
            }
            try await database.expectEqual(pairs, "seed \(seed)")
        }
    }

    @Test func `push_each enqueues a message to each token and returns their ids in order`() async throws {
        let payloads = (1...3).map { #"'{"aps": {"alert": "n: \#($0)"}}'"# }.joined(separator: ", ")
        for type in ["text", "json", "jsonb"] {
            let call = "push_each('demo', '{ab,CD,ab}', ARRAY[\(payloads)]::\(type)[])"
            let single = (1...3).map { number in
                "push('demo', ARRAY[('{ab,CD,ab}'::text[])[\(number)]], (ARRAY[\(payloads)]::\(type)[])[\(number)])"
            }
            let rows = try await database.outcomes(of: single).enumerated().map { place, outcome in
                outcome.replacing("1001", with: "\(1001 + place)").split(separator: " ", maxSplits: 1)[1]
            }
            #expect(
                try await database.outcomes(of: [call]) == ["{1001,1002,1003} \(rows.joined(separator: " "))"],
                "\(type)"
            )
        }
    }

    @Test func `push_each enqueues what push does, whatever the payloads`() async throws {
        // Background pushes, pushes that a device ignores, and several kinds at once.
        let payloads = [
            #"{"aps":{"alert":"x"}}"#, #"{"aps":{"content-available":1}}"#, #"{"aps":{}}"#, #"{"aps":{"badge":1}}"#,
        ]
        let list = payloads.map { "'\($0)'" }.joined(separator: ", ")
        try await database.run("SELECT carillon.push_each('demo', '{aa,bb,cc,dd}', ARRAY[\(list)])")
        try await database.run(
            "SELECT carillon.push('demo', ARRAY[t.token], t.payload) "
                + "FROM unnest('{aa,bb,cc,dd}'::text[], ARRAY[\(list)]) AS t(token, payload)"
        )
        let rows = try await database.rows(
            """
            SELECT tokens, payload::text, push_type, priority FROM carillon.messages ORDER BY id
            """
        )
        #expect(rows.count == 8 && Array(rows.prefix(4)) == Array(rows.suffix(4)))
        #expect(Set(rows).count == 4 && rows[1].hasSuffix(",background,5)"))
    }

    @Test func `push_each enqueues nothing if it refuses anything`() async throws {
        let good = #"'{"aps":{"alert":"x"}}'"#
        let refused: [(String, String, String)] = [
            ("'demo', '{ab,xy}', ARRAY[\(good), \(good)]", "\"tokens\" takes device tokens", "at position 2"),
            ("'demo', '{ab,NULL}', ARRAY[\(good), \(good)]", "\"tokens\" takes device tokens", "at position 2"),
            ("'demo', '{{ab},{cd}}', ARRAY[\(good), \(good)]", "\"tokens\" takes an array", "an array of arrays"),
            ("'demo', '{ab,cd}', ARRAY[\(good), '{']", "\"payloads\" takes JSON objects", "{ at position 2"),
            ("'demo', '{ab,cd}', ARRAY[\(good), '[]']", "\"payloads\" takes JSON objects", "[] at position 2"),
            ("'demo', '{ab,cd}', ARRAY[\(good), NULL]", "\"payloads\" takes a payload for each token", "at position 2"),
            ("'demo', '{ab,cd}', ARRAY[\(good)]", "\"payloads\" takes one payload for each of the 2 tokens", "got 1"),
            ("'demo', '{ab}', ARRAY[\(good), \(good)]", "\"payloads\" takes one payload for each of the 1", "got 2"),
            ("'demo', '{ab}', NULL", "\"payloads\" takes one payload for each of the 1 tokens", "got 0"),
            ("'nope', '{ab}', ARRAY[\(good)]", "\"app\" takes the name of an app", "'nope'"),
            (
                "'demo', '{ab,cd}', ARRAY[\(good), '{\"aps\":{\"alert\":\"' || repeat('x', 4096) || '\"}}']",
                "\"payloads\" takes payloads of at most 4096 bytes", "at position 2"
            ),
        ]
        for (arguments, start, end) in refused {
            let error = await database.refusal(ofValue: "carillon.push_each(\(arguments))", "\(arguments)")
            #expect(error?.message.hasPrefix("argument \(start)") == true, "\(error?.message ?? "")")
            #expect(error?.message.contains(end) == true, "\(error?.message ?? "")")
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
        for nobody in ["'{}', '{}'", "NULL, NULL"] {
            #expect(try await database.value("carillon.push_each('demo', \(nobody))") == "{}")
        }
    }
}
