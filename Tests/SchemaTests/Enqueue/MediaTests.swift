import CarillonPostgres
import TestSupport
import Testing

/// The functions of remote media sessions (iOS 27), from their arguments to the stored message.
@Suite(.demo) struct MediaTests {
    private static let named = #"'{"id": "radio 7"}'"#

    @Test(arguments: [
        (
            #"start_media('demo', '{aa}', '{"id": "radio 7", "title": "News, \"live\""}')"#,
            #"{"aps":{"timestamp":0,"event":"start","attributes":{"id":"radio 7","title":"News, \"live\""}}}"#
        ),
        (
            "update_media('demo', '{aa}', jsonb_build_object('id', 7), aps => '{\"new-member\": 1}', extra => '{\"a\": 2}')",
            #"{"aps":{"timestamp":0,"event":"update","attributes":{"id":7},"new-member":1},"a":2}"#
        ),
        (
            "update_media('demo', '{aa}', s) FROM (SELECT 'radio 7' AS id, 3 AS track) AS s",
            #"{"aps":{"timestamp":0,"event":"update","attributes":{"id":"radio 7","track":3}}}"#
        ),
        (
            #"end_media('demo', '{aa}', '{"id": "radio 7"}', apns_timestamp => to_timestamp(1234.9))"#,
            #"{"aps":{"timestamp":1234,"event":"end","attributes":{"id":"radio 7"}}}"#
        ),
    ])
    func `the payload is as Apple's article has it`(call: String, payload: String) async throws {
        try await database.run("SELECT carillon.\(call)")
        #expect(try await database.value("SELECT payload FROM carillon.messages") == payload)
        #expect(
            try await database.rows("SELECT push_type, priority, topic FROM carillon.messages") == ["(nowplaying,,)"]
        )
    }

    @Test func `other arguments are those of enqueue`() async throws {
        _ = try await database.value(
            """
            carillon.update_media('demo', '{aa}', \(Self.named), reference => 'r', run_at => '2100-01-01Z', lane => 0,
                expires_at => '2100-01-02Z', dedupe_key => 'k', topic => 'com.example.demo.push-type.nowplaying',
                on_unknown => 'fail', priority => 1)
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT s.lane, s.reference, s.topic, s.on_unknown, s.priority, s.expires_at = '2100-01-02Z', u.due_at = s.run_at
                FROM carillon.scheduled s JOIN carillon.updates u ON u.message_id = s.id
                """
            ) == ["(0,r,com.example.demo.push-type.nowplaying,fail,1,t,t)"]
        )
        for call in [
            "update_media('demo', '{aa}', \(Self.named), dedupe_key => 'k')", "end_media('demo', NULL, \(Self.named))",
            "start_media('demo', '{}', \(Self.named))",
        ] { #expect(try await database.value("carillon.\(call)") == nil, "\(call)") }
    }

    @Test func `updates and ends are noted for each job, and starts are not`() async throws {
        let tokens = "ARRAY(SELECT lpad(to_hex(n), 8, '0') FROM generate_series(1, 2500) n)"
        for name in ["start", "update", "end"] {
            _ = try await database.value("carillon.\(name)_media('demo', \(tokens), \(Self.named))")
        }
        #expect(
            try await database.rows(
                """
                SELECT u.is_end, count(*) FROM carillon.updates u
                JOIN carillon.messages m ON m.id = u.message_id AND u.token = ANY (m.tokens) GROUP BY 1 ORDER BY 1
                """
            ) == ["(f,2500)", "(t,2500)"]
        )
    }

    @Test func `a start goes to media_start tokens, and all else to media_session tokens`() async throws {
        for (token, kind) in ["aa": "media_start", "bb": "media_session", "cc": "push_to_start"] {
            _ = try await database.value("carillon.register_token('demo', '\(token)', kind => '\(kind)')")
        }
        for (call, got) in [
            ("start_media('demo', '{bb}'", "media_start, got 'bb', which is registered as media_session"),
            ("start_media('demo', '{cc}'", "media_start, got 'cc', which is registered as push_to_start"),
            ("update_media('demo', '{aa}'", "media_session, got 'aa', which is registered as media_start"),
            ("end_media('demo', '{cc}'", "media_session, got 'cc', which is registered as push_to_start"),
        ] {
            let error = await database.refusal(ofValue: "carillon.\(call), \(Self.named))")
            #expect(error?.message == "argument \"tokens\" takes tokens of kind \(got)", "\(error?.message ?? "")")
        }
        let call = "carillon.start_media('demo', NULL, \(Self.named)"
        _ = try await database.value("\(call), everyone => true)")
        #expect(try await database.rows("SELECT tokens FROM carillon.messages") == ["({aa})"])
        #expect(try await database.value("\(call))") == nil)
        // Not as long as a Live Activity: nothing is known of how long a session lasts.
        #expect(try await database.number("SELECT count(*) FROM carillon.tokens WHERE expires_at IS NOT NULL") == 0)
    }

    @Test(arguments: [
        ("update_media('demo', '{aa}', NULL)", "attributes"), ("update_media('demo', '{aa}', '[1]')", "attributes"),
        ("start_media('demo', '{aa}', '{\"title\": \"x\"}')", "attributes"),
        ("end_media('demo', '{aa}', '{\"id\": \"\"}')", "attributes"),
        ("end_media('demo', '{aa}', '{\"id\": null}'::json)", "attributes"),
        ("end_media('demo', '{aa}', '{\"id\": [1]}'::jsonb)", "attributes"),
        ("update_media('demo', '{aa}', '{\"id\"')", "attributes"),
        ("update_media('demo', '{aa}', jsonb_build_object('id', 1, 'a', repeat('x', 4050)))", "attributes"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', aps => '[]')", "aps"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', aps => '{\"event\": \"end\"}')", "aps"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', extra => '{\"aps\": {}}')", "extra"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', extra => jsonb_build_object('a', repeat('x', 4050)))", "extra"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', apns_timestamp => 'epoch')", "apns_timestamp"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', apns_timestamp => 'infinity')", "apns_timestamp"),
        ("start_media('demo', '{aa}', '{\"id\": 1}', everyone => true)", "tokens"),
        ("update_media('demo', '{xx}', '{\"id\": 1}')", "tokens"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', priority => 7)", "priority"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', lane => 7)", "lane"),
        ("update_media('nope', '{aa}', '{\"id\": 1}')", "app"),
        ("update_media('demo', '{aa}', '{\"id\": 1}', topic => 'com.example.demo.voip')", "topic"),
    ])
    func `a wrong argument is an error that names it`(call: String, argument: String) async throws {
        let error = await database.refusal(ofValue: "carillon.\(call)")
        #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(error?.message ?? "")")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
    }

    @Test func `a payload has room for the time that a worker writes into it`() async throws {
        let size = #"{"aps":{"timestamp":1234567890,"event":"update","attributes":{"a":"","id":1}}}"#.utf8.count
        let call = "carillon.update_media('demo', '{aa}', jsonb_build_object('id', 1, 'a', repeat('x', "
        #expect(try await database.value("\(call)\(4096 - size))))") != nil)
        let error = await database.refusal(ofValue: "\(call)\(4097 - size))))")
        #expect(error?.sqlState == "54000")
    }
}
