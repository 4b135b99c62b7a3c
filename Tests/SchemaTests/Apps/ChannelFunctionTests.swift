import CarillonPostgres
import TestSupport
import Testing

/// Requests for channels, what workers record of them, and what is published.
@Suite(.demo) struct ChannelFunctionTests {
    private static let made = "carillon.channel_made(1, 'r', 1, 'QUJDREVGR0hJSktMTU5PUA==')"

    private func ready(_ database: TestDatabase, policy: Int = 0) async throws {
        _ = try await database.value("carillon.request_channel('demo', \(policy), 'r')")
        _ = try await database.rows("SELECT * FROM carillon.take_channels(10)")
        #expect(try await database.value(Self.made) == "true")
    }

    @Test func `a request is taken once a minute, and what is made is recorded`() async throws {
        #expect(try await database.value("carillon.request_channel('demo', 1, 'r')") == "r")
        #expect(try await database.value("carillon.request_channel('demo', 1, 'r')") == "r")
        #expect(try await database.value("carillon.channel('r')") == nil)
        let taken =
            "SELECT app_id, reference, policy, channel_id, is_removal, attempt FROM carillon.take_channels(9)"
        #expect(try await database.rows(taken) == ["(1,r,1,,f,1)"])
        #expect(try await database.rows(taken) == [])
        #expect(try await database.value(Self.made) == "true")
        #expect(try await database.value("carillon.channel('r', 'demo')") == "QUJDREVGR0hJSktMTU5PUA==")
        // The answer to the statement may have been lost.
        #expect(try await database.value(Self.made) == "true")
        #expect(try await database.value("SELECT count(*) FROM carillon.unknown_channels") == "0")
    }

    @Test
    func `a request whose worker died is taken again, and what the dead one brings is ours to remove`() async throws {
        _ = try await database.value("carillon.request_channel('demo', 0, 'r')")
        _ = try await database.rows("SELECT * FROM carillon.take_channels(10)")
        try await database.run("UPDATE carillon.channels SET next_attempt_at = now()")
        #expect(try await database.rows("SELECT attempt FROM carillon.take_channels(10)") == ["(2)"])
        #expect(try await database.value("carillon.channel_made(1, 'r', 1, 'first')") == "false")
        #expect(try await database.value("carillon.channel_made(1, 'r', 2, 'second')") == "true")
        #expect(try await database.value("carillon.channel('r')") == "second")
        #expect(try await database.rows("SELECT channel_id, is_ours FROM carillon.unknown_channels") == ["(first,t)"])
    }

    @Test func `the id of another channel of the app is not recorded, neither in time nor too late`() async throws {
        try await ready(database)
        _ = try await database.value("carillon.request_channel('demo', 0, 's')")
        _ = try await database.rows("SELECT * FROM carillon.take_channels(10)")
        let error = await database.refusal(ofValue: Self.made.replacing("'r', 1", with: "'s', 1"))
        #expect(error?.sqlState == "23505")
        #expect(try await database.value(Self.made.replacing("'r', 1", with: "'s', 7")) == "false")
        #expect(try await database.value("SELECT count(*) FROM carillon.unknown_channels") == "0")
    }

    @Test func `a refusal is final or repeated, and a final one can be requested again`() async throws {
        _ = try await database.value("carillon.request_channel('demo', 0, 'r')")
        _ = try await database.rows("SELECT * FROM carillon.take_channels(10)")
        try await database.run("SELECT carillon.channel_failed(1, 'r', 1, 'Later.', interval '0', false)")
        #expect(try await database.rows("SELECT state, last_error FROM carillon.channels") == ["(requested,Later.)"])
        _ = try await database.rows("SELECT * FROM carillon.take_channels(10)")
        try await database.run("SELECT carillon.channel_failed(1, 'r', 2, 'Never.', NULL, false)")
        let error = await database.refusal(ofValue: "carillon.channel('r')")
        #expect(error?.message == "the channel 'r' is failed: Never." && error?.sqlState == "55000")
        _ = try await database.value("carillon.request_channel('demo', 1, 'r')")
        #expect(try await database.rows("SELECT attempt, policy FROM carillon.take_channels(10)") == ["(3,1)"])
    }

    @Test func `a channel is removed at once unless Apple may have it`() async throws {
        _ = try await database.value("carillon.request_channel('demo', 0, 'new')")
        try await database.run("SELECT carillon.remove_channel('demo', 'new')")
        try await ready(database)
        try await database.run("SELECT carillon.remove_channel('demo', 'QUJDREVGR0hJSktMTU5PUA==')")
        let taken = "SELECT reference, channel_id, is_removal, attempt FROM carillon.take_channels(10)"
        #expect(try await database.rows(taken) == ["(r,QUJDREVGR0hJSktMTU5PUA==,t,2)"])
        try await database.run("SELECT carillon.channel_gone(1, 'r', 2)")
        #expect(try await database.value("SELECT count(*) FROM carillon.channels") == "0")
        // One that is being made is removed when its id is known.
        _ = try await database.value("carillon.request_channel('demo', 0, 'r')")
        _ = try await database.rows("SELECT * FROM carillon.take_channels(10)")
        try await database.run("SELECT carillon.remove_channel('demo', 'r')")
        #expect(try await database.value("carillon.channel_made(1, 'r', 1, 'late')") == "true")
        #expect(try await database.rows(taken) == ["(r,late,t,2)"])
    }

    /// As behind a pooler that is pointed at it while a worker runs.
    @Test func `in a copy of the database, no request is taken and no list compared until it is adopted`() async throws
    {
        _ = try await database.value("carillon.request_channel('demo', 0, 'r')")
        try await database.run("UPDATE carillon.installation SET database_oid = database_oid + 1")
        let taken = "SELECT reference FROM carillon.take_channels(10)"
        #expect(try await database.rows(taken) == [])
        let listed = "SELECT channel_id, state FROM carillon.channels_listed(1, '{other}', now()) ORDER BY state"
        let error = await #expect(throws: PostgresError.self) { _ = try await database.rows(listed) }
        #expect(error?.sqlState == "55000" && error?.message.contains("this database is a copy") == true)
        try await database.run("SELECT carillon.adopt()")
        #expect(try await database.rows(taken) == ["(r)"])
        #expect(try await database.rows(listed) == ["(,requested)", "(other,unknown)"])
    }

    @Test func `Apple's list tells what is missing and what is unknown`() async throws {
        try await ready(database)
        let listed =
            "SELECT channel_id, reference, state FROM carillon.channels_listed(1, '{%}', now() + interval '1 s')"
        #expect(
            try await database.rows(listed.replacing("%", with: "other"))
                == ["(QUJDREVGR0hJSktMTU5PUA==,r,missing)", "(other,,unknown)"]
        )
        #expect(
            try await database.rows(listed.replacing("%", with: "QUJDREVGR0hJSktMTU5PUA=="))
                == ["(QUJDREVGR0hJSktMTU5PUA==,r,ready)"]
        )
        #expect(
            try await database.rows("SELECT state FROM carillon.channels_listed(1, '{}', now() - interval '1 hour')")
                == ["(ready)"],
            "it was recorded after the list"
        )
    }

    @Test func `a published message is one job with the channel as its token`() async throws {
        try await ready(database)
        let id = try await database.value(
            """
            carillon.publish('demo', 'r', '{"score": 1}', stale_date => '2100-01-01Z', reference => 'm', apns_timestamp => '2026-01-01Z')
            """
        )
        #expect(
            try await database.rows(
                """
                SELECT id, lane, payload, push_type, priority, expires_at, reference, carillon.token_text(tokens[1])
                FROM carillon.messages
                """
            ) == [
                #"(\#(id ?? ""),1,"{""aps"":{""timestamp"":1767225600,""stale-date"":4102444800,""event"":""update"",""content-state"":{""score"":1}}}",channel,5,,m,QUJDREVGR0hJSktMTU5PUA==)"#
            ]
        )
        #expect(
            try await database.value(
                "SELECT outcomes->0->>'token' FROM carillon.message_status(reference => 'm')"
            ) == "QUJDREVGR0hJSktMTU5PUA=="
        )
        try await database.run("DELETE FROM carillon.messages")
        _ = try await database.value(
            """
            carillon.publish('demo', 'QUJDREVGR0hJSktMTU5PUA==', event => 'end', alert => 'Over',
                dismissal_date => '1970-01-01Z', run_at => '2100-01-01Z')
            """
        )
        #expect(
            try await database.rows(
                "SELECT payload #>> '{aps,alert,body}', priority, push_type FROM carillon.scheduled"
            )
                == ["(Over,10,channel)"]
        )
    }

    @Test func `a broadcast may have each of Apple's priorities, unlike an update to a token`() async throws {
        try await ready(database)
        for priority in [10, 5, 1] {
            _ = try await database.value("carillon.publish('demo', 'r', '{}', priority => \(priority))")
        }
        #expect(
            try await database.rows("SELECT priority FROM carillon.messages ORDER BY id") == ["(10)", "(5)", "(1)"]
        )
        let error = await database.refusal(ofValue: "carillon.update_activity('demo', '{aa}', '{}', priority => 1)")
        #expect(error?.message == #"argument "priority" takes 10 or 5 for push type liveactivity, got 1"#)
    }

    @Test
    func `a channel that stores the last message gets an expiry, and one that stores nothing has none`() async throws {
        try await ready(database, policy: 1)
        _ = try await database.value("carillon.publish('demo', 'r', '{}')")
        #expect(
            try await database.value(
                "SELECT expires_at - created_at = interval '8 hours' FROM carillon.messages"
            ) == "true"
        )
    }

    static let mistakes: [(call: String, says: String)] = [
        ("request_channel('nobody', 0)", #"argument "app" takes the name of an app, got 'nobody'"#),
        (
            "request_channel('demo', 2)",
            #"argument "policy" takes 0 (Apple stores nothing) or 1 (it stores the last message), got 2"#
        ),
        ("request_channel('demo', 1, 'r')", #"argument "policy" takes 0, which the channel 'r' has, got 1"#),
        (
            "request_channel('demo', 0, '')",
            #"argument "reference" takes text of 1 to 255 bytes without control characters, got ''"#
        ),
        ("publish('nobody', 'r', '{}')", #"argument "app" takes the name of an app, got 'nobody'"#),
        ("publish('demo', 'x', '{}')", #"argument "channel" takes the reference or the id of a channel, got 'x'"#),
        ("publish('demo', 'r')", #"argument "content_state" takes a JSON object, got null"#),
        ("publish('demo', 'r', '[]')", #"argument "content_state" takes a JSON object, got []"#),
        ("publish('demo', 'r', '{}', 'start')", #"argument "event" takes 'update' or 'end', got 'start'"#),
        (
            "publish('demo', 'r', '{}', expires_at => '2100-01-01Z')",
            #"argument "expires_at" takes null for a channel that stores nothing (policy 0)"#
        ),
        ("publish('demo', 'r', '{}', priority => 7)", #"argument "priority" takes 10, 5 or 1, got 7"#),
        (
            "publish('demo', 'r', '{}', dismissal_date => now())",
            #"argument "dismissal_date" takes a time only if event is 'end'"#
        ),
        (
            "publish('demo', 'r', '{}', aps => '{\"event\":\"end\"}')",
            #"argument "aps" takes members that have no argument of their own"#
        ),
        (
            "publish('demo', 'r', '{}', apns_timestamp => 'epoch')",
            #"argument "apns_timestamp" takes a time after 1970-01-01 00:00:00 UTC, up to the year 2200, got '"#
        ),
        (
            "publish('demo', 'r', jsonb_build_object('x', repeat('y', 5047)))",
            #"argument "content_state" takes a value for a payload of at most 5120 bytes, got one of 5121 bytes"#
        ),
        ("publish('demo', 'r', jsonb_build_object('x', repeat('y', 5046)))", ""),
        ("publish('demo', 'r', '{}', sound => 'x')", #"argument "sound" takes null unless there is an alert"#),
        (
            "publish('demo', 'r', '{}', alert => 'x', title => 'y')",
            #"argument "alert" takes null if title or body is given"#
        ),
        (
            "publish('demo', 'r', '{}', body => 'x', aps => '{\"alert\":\"y\"}')",
            #"argument "aps" takes no member "alert" if alert, title or body is given"#
        ),
        ("record_channel('binary', 'QUJD', 0, 'x')", #"argument "app" takes an app with protocol http2"#),
        ("publish('demo', 'r', '{}', lane => 3)", #"argument "lane" takes 0 (urgent), 1 (normal) or 2 (bulk), got 3"#),
        (
            "publish('demo', 'r', jsonb_build_object('x', repeat('y', 6000)))",
            #"argument "content_state" takes a value for a payload of at most 5120 bytes, got one of 6"#
        ),
        ("channel('r', 'demo', wait => '1 s')", ""),
        ("remove_channel('demo', 'x')", #"argument "channel" takes the reference or the id of a channel, got 'x'"#),
        (
            "record_channel('demo', 'QUJDREVGR0hJSktMTU5PUA==', 0, 'r')",
            #"argument "channel_id" takes a channel and a reference that are not recorded yet"#
        ),
        ("enqueue('demo', '{aa}', 'x', push_type => 'channel')", #"argument "push_type" takes one of"#),
    ]

    @Test(arguments: mistakes)
    func `a mistake is an error that names the argument`(call: String, says: String) async throws {
        try await ready(database)
        try await database.run(
            "INSERT INTO carillon.apps (name, protocol, gateway) VALUES ('binary', 'binary', 'localhost:1')"
        )
        do {
            _ = try await database.value("carillon.\(call)")
            #expect(says.isEmpty)
        } catch let error as PostgresError {
            #expect(error.message.hasPrefix(says), "\(error.message)")
        }
    }

    private static let request = "carillon.request_channel('demo', 0, 'r')"

    @Test(arguments: [
        "DO $$ BEGIN PERFORM \(request); PERFORM WAIT; END $$", "BEGIN; SAVEPOINT s; SELECT \(request); SELECT WAIT",
        "BEGIN; SAVEPOINT s; SELECT \(request); RELEASE s; SELECT WAIT",
        "DO $$ BEGIN BEGIN PERFORM \(request); EXCEPTION WHEN OTHERS THEN NULL; END; PERFORM WAIT; END $$",
        """
        INSERT INTO carillon.channels (app_id, reference, policy, state, requested_at)
        VALUES (1, 'r', 0, 'failed', now() - interval '1 day');
        COMMIT; BEGIN; SAVEPOINT s; SELECT \(request); SELECT WAIT
        """,
    ])
    func `waiting needs a request that is committed`(statements: String) async throws {
        let wait = "carillon.channel('r', wait => interval '10 s')"
        let error = await database.refusal(of: statements.replacing("WAIT", with: wait))
        #expect(error?.message.contains("is committed") == true)
        try await database.run("ROLLBACK; DELETE FROM carillon.channels")
        _ = try await database.value("carillon.request_channel('demo', 0, 'r')")
        #expect(try await database.value("carillon.channel('r', wait => '50 ms')") == nil)
    }
}
