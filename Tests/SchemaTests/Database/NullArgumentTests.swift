import CarillonPostgres
import TestSupport
import Testing

/// Libraries that map objects to SQL pass every argument, and null for each that was not set.
@Suite(.demo) struct NullArgumentTests {
    /// Calls in which an argument matters, each without its closing parenthesis.
    private struct Example {
        let argument: String
        /// With this value, each call does something else than with the default.
        let other: String
        let calls: [String]

        init(_ argument: String, not other: String, _ calls: [String]) {
            self.argument = argument
            self.other = other
            self.calls = calls
        }
    }

    // Each variant of a function once, as text and as JSON.
    private static let enqueue = [
        "enqueue('demo', '{ab}', 'Hi'", #"enqueue('demo', '{ab}', '"Hi"'::jsonb"#,
        #"enqueue('demo', '{ab}', payloads => ARRAY['{"aps":{"alert":"Hi"}}'::jsonb]"#,
    ]
    private static let enqueueToNobody = [
        "enqueue('demo', '{}', 'Hi'", #"enqueue('demo', '{}', '"Hi"'::jsonb"#,
        "enqueue('demo', '{}', payloads => '{}'::jsonb[]",
    ]
    private static let broadcast = ["broadcast('demo', 'Hi'", #"broadcast('demo', '"Hi"'::jsonb"#]
    // No token is registered for this push type.
    private static let broadcastToNobody = broadcast.map { $0 + ", push_type => 'voip'" }
    private static let start = ["", "::jsonb"].map {
        "start_activity('demo', '{cd}', 'T', '{}'\($0), '{}'\($0), title => 'Hi'"
    }
    private static let startForNobody = start.map { $0.replacing("'{cd}'", with: "NULL") }
    private static let update = ["", "::jsonb"].map { "update_activity('demo', '{ef}', '{}'\($0)" }
    private static let end = ["", "::jsonb"].map { "end_activity('demo', '{ef}', '{}'\($0)" }
    private static let media = #"media('demo', '{fe}', '{"id": 1}'"#
    private static let publish = ["", "::jsonb"].map { "publish('demo', 'final', '{}'\($0)" }
    private static let batch = "('demo', after => '-infinity', until => 'infinity'"

    private static let examples: [Example] = [
        Example(
            "on_unknown",
            not: "'fail'",
            [enqueue, broadcast, start, update, end, publish, ["start_", "update_", "end_"].map { $0 + media }]
                .flatMap(\.self)
        ),
        Example(
            "on_duplicate",
            not: "'existing'",
            [enqueue, broadcast, publish].flatMap(\.self).map { $0 + ", dedupe_key => 'taken'" }
        ),
        Example("strict", not: "true", enqueueToNobody + broadcastToNobody),
        Example("push_token", not: "false", start),
        Example(
            "everyone",
            not: "true",
            startForNobody + ["start_" + media.replacing("'{fe}'", with: "NULL")]
        ),
        Example("event", not: "'end'", publish), Example("policy", not: "1", ["request_channel('demo'"]),
        Example("reference", not: "'mine'", ["request_channel('demo'"]),
        Example("badge", not: "3", ["set_badge('demo', 'ab'"]),
        Example(
            "include_unknown",
            not: "true",
            ["requeue_failures('demo'", "requeue_batch\(batch)", "count_failures\(batch), action => 'requeue'"]
        ),
        Example("include_delivered", not: "true", ["requeue_failures('demo'"]),
        Example("max_rows_read", not: "1", ["count_redelivery('hook', '-infinity'"]),
        Example("everything", not: "true", ["requeue_failures("]),
        Example("max_rows_read", not: "4001", ["search_reference('oldest'", "search_token('ee'"]),
        Example(
            "max_rows_read",
            not: "1",
            [
                "requeue_batch\(batch)", "dismiss_batch\(batch)", "count_failures\(batch), action => 'dismiss'",
                "next_due(",
            ]
        ),
        Example("max_rows", not: "0", ["next_due(", "newest_activities("]),
        Example("after", not: "'infinity'", ["next_due("]),
        Example("only_retries", not: "true", ["next_due("]), Example("max_apps", not: "0", ["token_counts("]),
        Example("n", not: "1", ["take_events('follower'"]),
        Example("exact_up_to", not: "-5", ["queue_depth(1", "depth_precision(500"]),
    ]

    /// The oldest rows lie just beyond what a search reads by default.
    private static let rows = """
        INSERT INTO carillon.tokens (app_id, token, kind, badge, expires_at) VALUES (1, 'ab', 'device', 7, NULL),
            (1, 'cd', 'push_to_start', 0, NULL), (1, 'ef', 'live_activity', 0, now() + interval '1 hour'),
            (1, 'dc', 'media_start', 0, NULL);
        INSERT INTO carillon.channels (app_id, reference, policy, channel_id, state) VALUES (1, 'final', 0, 'AAAA', 'ready');
        SELECT carillon.enqueue('demo', '{ab}', 'First', dedupe_key => 'taken');
        SELECT carillon.subscribe('demo', 'follower'), carillon.add_webhook('hook', 'demo', 'https://a.example/'),
            carillon.note_dead(1, '{ab,cd}', ARRAY[now(), now()]);
        SELECT carillon.note_dead(1, '{ba}', ARRAY[now()]);
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, attempt)
        SELECT nextval('carillon.messages_id_seq'), 1, '{ab}', '{}', now() + interval '1 day', n FROM generate_series(1, 2) n;
        INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens, reference)
        SELECT 1, 1000 + n, 1000 + n, 2, 1, 1, CASE n WHEN 1 THEN 'oldest' END FROM generate_series(1, 4001) n;
        INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
        VALUES (50, 1, 1, '{"aps":{"alert":"Hi"}}', 'alert', 'retry');
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
        SELECT 50, 1, 'ab', f.status, f.reason, now() - interval '2 hours'
        FROM (VALUES (400, 'BadTopic'), (NULL, 'OutcomeUnknown'), (200, 'Unrecorded')) AS f (status, reason)
        UNION ALL
        SELECT 51, 1, CASE n WHEN 2001 THEN 'ee' ELSE 'ff' END, 410, 'Unregistered', now() - n * interval '1 second'
        FROM generate_series(1, 2001) n
        """
    /// What the calls change, without times.
    private static let state = """
        SELECT to_jsonb(m) - 'created_at' FROM carillon.messages m
        UNION ALL SELECT to_jsonb(c) - '{requested_at,next_attempt_at}'::text[] FROM carillon.channels c
        UNION ALL SELECT to_jsonb(k) FROM carillon.tokens k
        """

    /// The arguments whose default is not null, of functions that are documented or meant for dashboards, and how many variants of
    /// the function have each.
    private static let defaults = """
        SELECT concat(f.proname, '.', f.proargnames[n.place], ' ', count(*))
        FROM (\(SQLReference.callable)) f CROSS JOIN LATERAL generate_series(1, f.pronargs) AS n(place)
        WHERE pg_get_function_arg_default(f.oid, n.place) NOT LIKE 'NULL::%'
            AND (f.comment NOT LIKE 'Internal: %' OR f.roles LIKE '%carillon_reader%' OR f.roles LIKE '%carillon_operator%')
        GROUP BY f.proname, f.proargnames[n.place]
        """

    @Test func `null for an argument that has a default takes the default`() async throws {
        try await database.run(Self.rows)
        var tried: [String: Int] = [:]
        for example in Self.examples {
            for call in example.calls {
                let function = call.prefix { $0 != "(" }
                tried["\(function).\(example.argument)", default: 0] += 1
                let argument = (call.hasSuffix("(") ? "" : ", ") + example.argument
                let usual = try await outcome(of: call + ")")
                #expect(try await outcome(of: "\(call)\(argument) => NULL)") == usual, "\(call)\(argument) => NULL)")
                let other = try await outcome(of: "\(call)\(argument) => \(example.other))")
                #expect(other != usual, "\(call)\(argument) => \(example.other)) does the same")
            }
        }
        let defaults = try await database.rows(Self.defaults)
        #expect(Set(defaults) == Set(tried.map { "(\"\($0.key) \($0.value)\")" }))
    }

    /// The rows that the call returns, and those of the tables that it may change; or the SQLSTATE of its error.
    private func outcome(of call: String) async throws -> [String] {
        let rows: [String]
        try await database.run("BEGIN; SELECT setval('carillon.messages_id_seq', 100000)")
        do {
            rows = try await database.rows("SELECT r FROM carillon.\(call) AS r") + database.rows(Self.state)
        } catch let error as PostgresError {
            rows = [error.sqlState ?? "\(error)"]
        }
        try await database.run("ROLLBACK")
        // The default of a reference is another one each time.
        return rows.map { $0.replacing(/[0-9a-f]{8}-[0-9a-f-]{27}/, with: "a UUID") }.sorted()
    }
}
