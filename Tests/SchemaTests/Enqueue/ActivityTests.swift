import CarillonPostgres
import TestSupport
import Testing

/// `start_activity`, `update_activity` and `end_activity`.
@Suite(.demo) struct ActivityTests {
    private static let alert = """
        {"title": {"loc-key": "%@ is knocked down!", "loc-args": ["Power Panda"]},
        "body": {"loc-key": "Use a potion to heal %@!", "loc-args": ["Power Panda"]}, "sound": "HeroDown.mp4"}
        """

    /// Payloads of Apple's article about ActivityKit push notifications, and of the session 10185 of WWDC 2023.
    @Test(arguments: [
        (
            """
            carillon.start_activity('demo', '{aa}', 'AdventureAttributes',
                '{"currentHealthLevel": 100, "eventDescription": "Adventure has begun!"}',
                '{"currentHealthLevel": 100, "eventDescription": "Adventure has begun!"}',
                '{"title": {"loc-key": "%@ is on an adventure!", "loc-args": ["Power Panda"]},
                "body": {"loc-key": "%@ found a sword!", "loc-args": ["Power Panda"]}, "sound": "chime.aiff"}'::jsonb,
                apns_timestamp => to_timestamp(1234), push_token => false)
            """,
            """
            {"aps": {"timestamp": 1234, "event": "start", "content-state": {"currentHealthLevel": 100,
            "eventDescription": "Adventure has begun!"}, "attributes-type": "AdventureAttributes", "attributes":
            {"currentHealthLevel": 100, "eventDescription": "Adventure has begun!"}, "alert": {"title":
            {"loc-key": "%@ is on an adventure!", "loc-args": ["Power Panda"]}, "body": {"loc-key": "%@ found a sword!",
            "loc-args": ["Power Panda"]}, "sound": "chime.aiff"}}}
            """
        ),
        (
            """
            carillon.start_activity('demo', '{aa}', 'AdventureAttributes', '{"name": "Panda"}', '{"level": 1}',
                title => 'Adventure', body => 'It begins', channel => 'dHN0LXNyY2gtY2hubA==')
            """,
            """
            {"aps": {"timestamp": 0, "event": "start", "content-state": {"level": 1}, "attributes-type":
            "AdventureAttributes", "attributes": {"name": "Panda"}, "input-push-channel": "dHN0LXNyY2gtY2hubA==",
            "alert": {"title": "Adventure", "body": "It begins"}}}
            """
        ),
        (
            """
            carillon.start_activity('demo', '{aa}', 'AdventureAttributes', '{"name": "Panda"}', '{"level": 1}', 'It begins')
            """,
            """
            {"aps": {"timestamp": 0, "event": "start", "content-state": {"level": 1}, "attributes-type":
            "AdventureAttributes", "attributes": {"name": "Panda"}, "input-push-token": 1, "alert": {"body": "It begins"}}}
            """
        ),
        (
            """
            carillon.update_activity('demo', '{aa}',
                '{"currentHealthLevel": 0.0, "eventDescription": "Power Panda has been knocked down!"}', '\(alert)',
                apns_timestamp => to_timestamp(1168364460))
            """,
            """
            {"aps": {"timestamp": 1168364460, "event": "update", "content-state": {"currentHealthLevel": 0.0,
            "eventDescription": "Power Panda has been knocked down!"}, "alert": \(alert)}}
            """
        ),
        (
            """
            carillon.update_activity('demo', '{aa}',
                '{"currentHealthLevel": 0.941, "eventDescription": "Power Panda found a sword!"}',
                apns_timestamp => to_timestamp(1685952000))
            """,
            """
            {"aps": {"timestamp": 1685952000, "event": "update", "content-state": {"currentHealthLevel": 0.941,
            "eventDescription": "Power Panda found a sword!"}}}
            """
        ),
        (
            """
            carillon.update_activity('demo', '{aa}', '{"level": 2}', stale_date => to_timestamp(1663177260.7),
                relevance_score => 75)
            """,
            """
            {"aps": {"timestamp": 0, "event": "update", "content-state": {"level": 2}, "stale-date": 1663177260,
            "relevance-score": 75}}
            """
        ),
        (
            """
            carillon.end_activity('demo', '{aa}',
                '{"currentHealthLevel": 0.23, "eventDescription": "Adventure over! Power Panda is taking a nap."}',
                dismissal_date => to_timestamp(1663177260), apns_timestamp => to_timestamp(1168364460))
            """,
            """
            {"aps": {"timestamp": 1168364460, "event": "end", "dismissal-date": 1663177260, "content-state":
            {"currentHealthLevel": 0.23, "eventDescription": "Adventure over! Power Panda is taking a nap."}}}
            """
        ),
        ("carillon.end_activity('demo', '{aa}')", #"{"aps": {"timestamp": 0, "event": "end"}}"#),
        (
            """
            carillon.update_activity('demo', '{aa}', json_build_object('level', 2), alert => '{"title": "t"}'::jsonb,
                aps => '{"new-member": 1}', extra => '{"order": [7, "a, b"]}')
            """,
            """
            {"aps": {"timestamp": 0, "event": "update", "content-state": {"level": 2}, "alert": {"title": "t"},
            "new-member": 1}, "order": [7, "a, b"]}
            """
        ),
    ])
    func `the payloads are those of Apple's samples`(call: String, payload: String) async throws {
        _ = try #require(try await database.value(call))
        let stored = try #require(try await database.value("SELECT payload FROM carillon.messages"))
        #expect(
            try await database.value("SELECT payload::jsonb = $json$\(payload)$json$::jsonb FROM carillon.messages")
                == "true",
            "\(stored)"
        )
        #expect(stored.hasPrefix(#"{"aps":{"timestamp":"#))
    }

    @Test func `an activity that alerts has priority 10, and any other 5`() async throws {
        for call in [
            "update_activity('demo', '{AA}', '{}')", "update_activity('demo', '{aa}', '{}', 'x')",
            "end_activity('demo', '{aa}', title => 'x')", "update_activity('demo', '{aa}', '{}', priority => 10)",
        ] { _ = try await database.value("carillon.\(call)") }
        #expect(
            try await database.rows("SELECT push_type, priority, topic, tokens FROM carillon.messages ORDER BY id")
                == [5, 10, 10, 10].map { "(liveactivity,\($0),,{aa})" }
        )
    }

    @Test func `other arguments are those of enqueue`() async throws {
        _ = try await database.value(
            """
            carillon.update_activity('demo', '{aa}', '{"a": 1}', reference => 'r', run_at => '2100-01-01Z', lane => 0,
                expires_at => '2100-01-02Z', dedupe_key => 'k', topic => 'com.example.demo.push-type.liveactivity', on_unknown => 'fail')
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT s.lane, s.reference, s.topic, s.on_unknown, s.expires_at = '2100-01-02Z', u.due_at = s.run_at
                FROM carillon.scheduled s JOIN carillon.updates u ON u.message_id = s.id
                """
            ) == ["(0,r,com.example.demo.push-type.liveactivity,fail,t,t)"]
        )
        let again = "carillon.update_activity('demo', '{aa}', '{}', dedupe_key => 'k')"
        #expect(try await database.value(again) == nil)
        #expect(try await database.value("carillon.update_activity('demo', NULL, '{}')") == nil)
        #expect(try await database.value("carillon.update_activity('demo', '{}', '{}')") == nil)
        #expect(try await database.value("SELECT count(*) FROM carillon.updates") == "1")
    }

    @Test func `each job of a long list is noted, and a start is not`() async throws {
        let tokens = "ARRAY(SELECT lpad(to_hex(n), 8, '0') FROM generate_series(1, 2500) n)"
        _ = try await database.value("carillon.update_activity('demo', \(tokens), '{}')")
        _ = try await database.value("carillon.end_activity('demo', \(tokens), run_at => '2100-01-01Z')")
        _ = try await database.value("carillon.start_activity('demo', \(tokens), 'A', '{}', '{}', 'x')")
        #expect(
            try await database.rows(
                """
                SELECT count(*) FROM carillon.updates u JOIN (
                    SELECT id, tokens FROM carillon.messages UNION ALL SELECT id, tokens FROM carillon.scheduled
                ) m ON m.id = u.message_id AND u.token = ANY (m.tokens)
                """
            ) == ["(5000)"]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.updates") == "5000")
    }

    @Test func `with everyone an activity starts on each push-to-start token of the app`() async throws {
        let tokens = ["aa": "device", "bb": "push_to_start", "cc": "live_activity", "dd": "push_to_start"]
        for (token, kind) in tokens {
            _ = try await database.value("carillon.register_token('demo', '\(token)', kind => '\(kind)')")
        }
        let call = "carillon.start_activity('demo', NULL, 'A', '{}', '{}', 'x'"
        _ = try await database.value("\(call), everyone => true)")
        #expect(try await database.rows("SELECT tokens FROM carillon.messages") == [#"("{bb,dd}")"#])
        // A list that turned out to be null is no broadcast.
        #expect(try await database.value("\(call))") == nil)
    }

    @Test func `a cancelled update makes no older one superseded`() async throws {
        let id = try #require(try await database.value("carillon.update_activity('demo', '{aa,bb}', '{}')"))
        _ = try await database.value("carillon.update_activity('demo', '{aa}', '{}')")
        #expect(try await database.value("carillon.cancel(\(id))") == "1")
        #expect(try await database.rows("SELECT token FROM carillon.updates") == ["(aa)"])
    }

    @Test(arguments: [
        ("update_activity('demo', '{aa}', NULL)", "content_state"),
        ("update_activity('demo', '{aa}', '[1]')", "content_state"),
        ("end_activity('demo', '{aa}', '7')", "content_state"),
        ("start_activity('demo', '{aa}', NULL, '{}', '{}', 'x')", "attributes_type"),
        ("start_activity('demo', '{aa}', 'a b', '{}', '{}', 'x')", "attributes_type"),
        ("start_activity('demo', '{aa}', 'A', NULL, '{}', 'x')", "attributes"),
        ("start_activity('demo', '{aa}', 'A', '{}', NULL, 'x')", "content_state"),
        ("start_activity('demo', '{aa}', 'A', '{}', '{}')", "alert"),
        ("start_activity('demo', '{aa}', 'A', '{}', '{}', '{}'::jsonb)", "alert"),
        ("start_activity('demo', '{aa}', 'A', '{}', '{}', 'x', everyone => true)", "tokens"),
        ("start_activity('demo', '{aa}', 'A', '{}', '{}', 'x', channel => 'not base64')", "channel"),
        ("update_activity('demo', '{aa}', '{}', '7'::jsonb)", "alert"),
        ("update_activity('demo', '{aa}', '{}', 'x', title => 'y')", "alert"),
        ("update_activity('demo', '{aa}', '{}', sound => 'x.caf')", "sound"),
        ("update_activity('demo', '{aa}', '{}', '{\"sound\":\"y\"}', sound => 'x.caf')", "sound"),
        ("update_activity('demo', '{aa}', '{}', stale_date => 'infinity')", "stale_date"),
        ("end_activity('demo', '{aa}', dismissal_date => '1960-01-01Z')", "dismissal_date"),
        ("update_activity('demo', '{aa}', '{}', apns_timestamp => 'epoch')", "apns_timestamp"),
        ("update_activity('demo', '{aa}', '{}', relevance_score => 'NaN')", "relevance_score"),
        ("update_activity('demo', '{aa}', '{}', priority => 7)", "priority"),
        ("update_activity('demo', '{aa}', '{\"a\":1')", "content_state"),
        ("end_activity('demo', '{aa}', 'null'::json)", "content_state"),
        ("start_activity('demo', '{aa}', 'A', '{\"a\"', '{}', 'x')", "attributes"),
        ("update_activity('demo', '{aa}', '{}', '{\"title\":\"x\"')", "alert"),
        ("update_activity('demo', '{aa}', '{}', aps => '[]')", "aps"),
        ("update_activity('demo', '{aa}', '{}', aps => '{\"alert\":\"x\"}')", "aps"),
        ("update_activity('demo', '{aa}', '{}', extra => '{\"aps\":{}}')", "extra"),
        ("update_activity('demo', '{aa}', '{}', extra => jsonb_build_object('a', repeat('x', 4050)))", "extra"),
        ("update_activity('demo', '{aa}', '{}', lane => 7)", "lane"),
        ("update_activity('demo', '{xx}', '{}')", "tokens"),
        ("update_activity('nope', '{aa}', '{}')", "app"),
        ("update_activity('demo', '{aa}', jsonb_build_object('a', repeat('x', 4050)))", "content_state"),
        ("start_activity('demo', '{aa}', 'A', jsonb_build_object('a', repeat('x', 4050)), '{}', 'x')", "attributes"),
    ])
    func `a wrong argument is an error that names it`(call: String, argument: String) async throws {
        let error = await database.refusal(ofValue: "carillon.\(call)")
        #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(error?.message ?? "")")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
    }

    @Test func `a token that is registered for something else is refused, and one that is not registered is sent`()
        async throws
    {
        for (token, kind) in ["aa": "device", "bb": "push_to_start", "cc": "live_activity"] {
            _ = try await database.value("carillon.register_token('demo', '\(token)', kind => '\(kind)')")
        }
        for (call, got) in [
            (
                "update_activity('demo', '{ee,cc,AA,bb}', '{}')",
                "tokens of kind live_activity, got 'aa', which is registered as device"
            ),
            (
                "end_activity('demo', '{bb}')",
                "tokens of kind live_activity, got 'bb', which is registered as push_to_start"
            ),
            ("start_activity('demo', '{cc}', 'A', '{}', '{}', 'x')", "tokens of kind push_to_start, got 'cc'"),
            ("enqueue('demo', '{aa}', 'x', push_type => 'voip')", "tokens of kind voip, got 'aa'"),
            (
                "enqueue('demo', '{bb,cc}', payloads => ARRAY['{\"aps\":{}}', '{}'], push_type => 'liveactivity')",
                "tokens of kind live_activity, got 'bb'"
            ),
        ] {
            let error = await database.refusal(ofValue: "carillon.\(call)")
            #expect(error?.message.hasPrefix("argument \"tokens\" takes \(got)") == true, "\(error?.message ?? "")")
            #expect(error?.hint?.contains("register_token") == true)
        }
        for call in [
            "update_activity('demo', '{CC,dd}', '{}')", "start_activity('demo', '{bb,dd}', 'A', '{}', '{}', 'x')",
            "enqueue('demo', '{dd}', 'x', push_type => 'voip')",
            "enqueue('demo', '{aa}', 'x', push_type => 'alert')",
        ] { #expect(try await database.value("carillon.\(call)") != nil) }
    }

    @Test func `a payload has room for the time that a worker writes into it`() async throws {
        let size = #"{"aps":{"timestamp":1234567890,"event":"update","content-state":{"a":""}}}"#.utf8.count
        let call = "carillon.update_activity('demo', '{aa}', jsonb_build_object('a', repeat('x', "
        #expect(try await database.value("\(call)\(4096 - size))))") != nil)
        let error = await database.refusal(ofValue: "\(call)\(4097 - size))))")
        #expect(error?.sqlState == "54000")
    }
}
