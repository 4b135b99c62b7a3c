import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import TestSupport
import Testing

/// Apps that see nothing of each other, each with its own role.
@Suite struct IsolationTests {
    private static let setUp = """
        INSERT INTO carillon.apps (name, topic) VALUES ('other', 'com.example.other');
        INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'a1'), (2, 'b1');
        INSERT INTO carillon.results (message_id, app_id, sent) VALUES (100, 1, 1), (101, 2, 1);
        INSERT INTO carillon.failures (message_id, app_id, token, reason)
        VALUES (102, 1, 'a2', 'x'), (103, 2, 'b2', 'x'), (104, 2, 'b2', 'OfOther');
        INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
        VALUES (102, 1, 1, '{}', 'alert', 'retry'), (103, 2, 1, '{}', 'alert', 'retry');
        INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (200, 1, '{a3}', '{}'), (200, 2, '{b3}', '{}');
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (201, 2, '{b4}', '{}', 'infinity');
        INSERT INTO carillon.channels (app_id, reference, policy, channel_id, state) VALUES (2, 'theirs', 0, 'AAAA', 'ready')
        """

    /// Calls of each variant of `push`, and of `push_each`.
    static func pushes(_ app: String) -> [String] {
        let payload = #"'{"aps":{"alert":"x"}}'"#
        return [
            "carillon.push('\(app)', '{aa}', \(payload))", "carillon.push('\(app)', '{aa}', \(payload)::json)",
            "carillon.push('\(app)', '{aa}', 'x', 1, NULL)",
            "carillon.push('\(app)', '{aa}', '{\"title\":\"x\"}'::jsonb, 1, NULL)",
            "carillon.push_each('\(app)', '{aa}', ARRAY[\(payload)])",
        ]
    }

    /// Continues the session as a role that may use the app "demo" and nothing else.
    static func isolated(_ body: (TestDatabase, _ role: String) async throws -> Void) async throws {
        try await TestDatabase.withDemo { database async throws in
            let role = "demo_\(database.connection.backendProcessID)"
            try await database.run("\(Self.setUp); CREATE ROLE \(role); SELECT carillon.isolate_app('demo', '\(role)')")
            try await database.run("SET ROLE \(role)")
            try await body(database, role)
            try await database.run("RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }

    @Test func `an isolated role enqueues, reads and cancels messages of its app`() async throws {
        try await Self.isolated { database, _ async throws in
            #expect(try await database.value("carillon.enqueue('demo', '{aa}', 'x') IS NOT NULL") == "true")
            for call in Self.pushes("demo") {
                #expect(try await database.value("\(call) IS NOT NULL") == "true", "\(call)")
            }
            #expect(try await database.value("carillon.broadcast('demo', 'x') IS NOT NULL") == "true")
            try await database.run(
                "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}') RETURNING id"
            )
            try await database.run("SELECT carillon.register_token('demo', 'cc', 'me')")
            #expect(try await database.rows("SELECT token FROM carillon.tokens ORDER BY 1") == ["(a1)", "(cc)"])
            #expect(try await database.rows("SELECT name FROM carillon.apps") == ["(demo)"])
            #expect(try await database.rows("SELECT message_id FROM carillon.results") == ["(100)"])
            #expect(try await database.rows("SELECT message_id FROM carillon.failures") == ["(102)"])
            #expect(try await database.value("SELECT count(*) FROM carillon.message_status(100)") == "1")
            #expect(try await database.value("SELECT sent FROM carillon.broadcast_progress(100)") == "1")
            #expect(try await database.value("carillon.requeue_failures(everything => true)") == "1")
            // The other app has a message of that id too.
            #expect(try await database.value("carillon.cancel(200)") == "1")
        }
    }

    @Test
    func
        `message_status shows an isolated role only its own message, also for an id or reference that another app has`()
        async throws
    {
        try await Self.isolated { database, role async throws in
            try await database.run(
                """
                RESET ROLE;
                INSERT INTO carillon.messages (id, app_id, tokens, payload, reference) VALUES
                    (300, 1, '{a5}', '{}', 'r'), (300, 2, '{b5}', '{}', 'r'), (301, 2, '{b6}', '{}', 'r');
                INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens, reference)
                VALUES (2, 300, 310, 1, 11, 1100, 'r');
                INSERT INTO carillon.unfinished (app_id, message_id, broadcast_id, remaining) VALUES (2, 305, 300, 1);
                INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (300, 2, 'b7', 'x');
                SET ROLE \(role)
                """
            )
            // Its own message 300 has no failure, and it does not see which messages 305 and 103 are jobs of.
            for id in ["300", "305", "103"] {
                let jobs = try await database.rows("SELECT * FROM carillon.message_jobs(\(id))")
                #expect(jobs == (id == "300" ? ["(1,300)"] : []), "\(id)")
            }
            for arguments in ["300", "reference => 'r'", "300, app => 'demo'", "reference => 'r', app => 'demo'"] {
                #expect(
                    try await database.rows(
                        """
                        SELECT app, tokens, failed, waiting, outcomes -> 0 ->> 'token', jsonb_array_length(outcomes)
                        FROM carillon.message_status(\(arguments))
                        """
                    ) == ["(demo,1,0,1,a5,1)"],
                    "\(arguments)"
                )
            }
        }
    }

    @Test func `trace shows an isolated role what its own app knows, even if another app knows more`() async throws {
        try await Self.isolated { database, role async throws in
            try await database.run(
                """
                RESET ROLE;
                INSERT INTO carillon.tokens (app_id, token, owner) VALUES (1, 'c1', 'me'), (2, 'c2', 'me');
                INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (300, 2, 'c1', 'x');
                INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (2, 'c1', now());
                INSERT INTO carillon.messages (id, app_id, tokens, payload, reference)
                VALUES (300, 2, '{c1}', '{}', 'r'), (301, 1, '{c3}', '{}', 'r');
                SET ROLE \(role)
                """
            )
            for (arguments, events) in [
                ("owner => 'me'", "registered c1, in broadcasts c1, not known"),
                ("token => 'c1'", "registered c1, in broadcasts c1, owner c1, not known"),
                ("token => 'c2'", "not registered c2, not known"), ("reference => 'r'", "enqueued, waiting"),
                ("message_id => 300", "not found"), ("message_id => 101", "not found"),
                ("message_id => 100", "enqueued, sent"),
            ] {
                let found = try await database.value(
                    """
                    SELECT string_agg(concat_ws(' ', t.event, t.token), ', ' ORDER BY t.ordinality)
                    FROM carillon.trace('demo', \(arguments)) WITH ORDINALITY AS t
                    """
                )
                #expect(found == events, "\(arguments)")
            }
        }
    }

    @Test func `an isolated role does not see an app that is added later`() async throws {
        try await Self.isolated { database, role async throws in
            try await database.run(
                "RESET ROLE; INSERT INTO carillon.apps (name, topic) VALUES ('later', 'x'); SET ROLE \(role)"
            )
            let refused = await database.refusal(of: "SELECT carillon.enqueue('later', '{aa}', 'x')")
            #expect(refused?.sqlState == "42704", "\(refused?.message ?? "")")
            #expect(try await database.rows("SELECT name FROM carillon.apps") == ["(demo)"])
        }
    }

    @Test func `an isolated role can neither read nor change rows of another app`() async throws {
        try await Self.isolated { database, role async throws in
            for call in Self.pushes("other") {
                let error = await database.refusal(ofValue: call, "\(call)")
                #expect(error?.sqlState == "42704", "\(call): \(error?.message ?? "")")
                #expect(error?.hint?.contains("other") != true, "\(call): \(error?.hint ?? "")")
            }
            for (statement, state) in [
                ("SELECT carillon.enqueue('other', '{aa}', 'x')", "42704"),
                ("SELECT carillon.broadcast('other', 'x')", "42704"), ("SELECT carillon.cancel(200, 'other')", "42704"),
                ("SELECT carillon.register_token('other', 'cc')", "42704"),
                ("SELECT carillon.unregister_token('other', 'b1')", "42704"), ("DELETE FROM carillon.tokens", "42501"),
                ("SELECT carillon.list_tokens('other', 'me')", "42704"),
                ("SELECT carillon.list_messages('other', 'r')", "42704"), ("TABLE carillon.webhook_status", "42501"),
                // Only the other app has failures with this reason.
                ("SELECT carillon.requeue_failures(reason => 'OfOther')", "22023"),
                ("SELECT carillon.cancel(reference => 'r', app => 'other')", "42704"),
                ("SELECT carillon.cancel(owner => 'me', app => 'other')", "42704"),
                ("SELECT carillon.forget('other', 'me')", "42704"), ("SELECT carillon.list_channels('other')", "42704"),
                ("SELECT carillon.requeue_failures('other')", "42704"),
                ("SELECT carillon.message_status(101, app => 'other')", "42704"),
                ("SELECT carillon.broadcast_progress(101, 'other')", "42704"),
                ("SELECT carillon.trace('other', message_id => 101)", "42704"),
                ("SELECT carillon.subscribe('other', 'mine')", "42704"),
                ("SELECT carillon.unsubscribe('other', 'theirs')", "42704"), ("TABLE carillon.events", "42501"),
                ("SELECT carillon.take_events('theirs')", "42704"), ("UPDATE carillon.tokens SET app_id = 2", "42501"),
                ("SELECT carillon.peek_events('other', 'theirs')", "42704"),
                ("SELECT carillon.acknowledge_events('other', 'theirs', '1')", "42704"),
                ("SELECT carillon.update_activity('other', '{aa}', '{}')", "42704"),
                ("SELECT carillon.publish('other', 'theirs', '{}')", "42704"),
                ("SELECT carillon.publish('demo', 'theirs', '{}')", "42704"),
                ("SELECT carillon.channel('theirs')", "42704"), ("SELECT carillon.channel('AAAA', 'other')", "42704"),
                ("SELECT carillon.request_channel('other')", "42704"),
                ("SELECT carillon.record_channel('other', 'BBBB', 0, 'mine')", "42704"),
                ("SELECT carillon.remove_channel('other', 'theirs')", "42704"),
                ("SELECT carillon.remove_channel('demo', 'AAAA')", "42704"),
                ("SELECT * FROM carillon.broadcast_progress(101)", "P0002"),
                ("INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (2, '{aa}', '{}')", "42501"),
                ("INSERT INTO carillon.tokens (app_id, token) VALUES (2, 'cc')", "42501"),
                ("INSERT INTO carillon.app_roles VALUES (2, '\(role)'::regrole)", "42501"),
                ("SELECT carillon.isolate_app('other', '\(role)')", "42501"),
                ("SELECT carillon.unisolate_app('demo', '\(role)')", "42501"), ("TABLE carillon.pending", "42501"),
                ("TABLE carillon.certificates", "42501"), ("TABLE carillon.results_default", "42501"),
            ] {
                let error = await database.refusal(of: statement, "\(statement)")
                #expect(error?.sqlState == state, "\(statement): \(error?.message ?? "")")
                #expect(error?.hint?.contains("other") != true, "\(statement): \(error?.hint ?? "")")
            }
            // What it may not requeue is not counted for it either.
            for (caller, count) in [(role, "1 push of 1 app"), ("postgres", "2 pushes of 2 apps")] {
                try await database.run("SET ROLE \(caller)")
                let unbound = await database.refusal(of: "SELECT carillon.requeue_failures()")
                #expect(unbound?.message.contains(": \(count) would be") == true, "\(unbound?.message ?? "")")
            }
            try await database.run(
                """
                SET ROLE \(role); SELECT carillon.unregister_token('demo', 'A1'); UPDATE carillon.tokens SET owner = 'me'
                """
            )
            #expect(try await database.value("carillon.cancel_messages('{200,201}')") == "1")
            #expect(try await database.value("carillon.cancel_broadcast(201)") == "0")
            #expect(try await database.value("SELECT count(*) FROM carillon.message_status(101)") == "0")
            #expect(try await database.value("SELECT count(*) FROM carillon.message_status(201)") == "0")
            // The same as a role that it is a member of.
            try await database.run("SET ROLE carillon_tenant")
            #expect(try await database.value("SELECT count(*) FROM carillon.apps") == "0")
            #expect(try await database.value("SELECT count(*) FROM carillon.message_status(100)") == "0")
            try await database.run("RESET ROLE")
            #expect(try await database.rows("SELECT app_id, token, owner FROM carillon.tokens") == ["(2,b1,)"])
            #expect(
                try await database.rows("SELECT app_id, id FROM carillon.pending ORDER BY 2") == ["(2,200)", "(2,201)"]
            )
            #expect(try await database.value("SELECT count(*) FROM carillon.results WHERE app_id = 2") == "1")
        }
    }

    @Test func `an isolated role can lock no table of Carillon against others`() async throws {
        try await Self.isolated { database, _ async throws in
            let relations = try await database.rows(
                """
                SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace
                    AND c.relkind IN ('r', 'p', 'v')
                """
            )
            #expect(relations.count > 40)
            for relation in relations {
                for mode in ["ROW EXCLUSIVE", "ACCESS EXCLUSIVE"] {
                    let error = await database.refusal(
                        of: "BEGIN; LOCK TABLE \(relation.dropFirst().dropLast()) IN \(mode) MODE; COMMIT",
                        "\(relation) in \(mode)"
                    )
                    try await database.run("ROLLBACK")
                    #expect(error?.sqlState == "42501", "\(relation): \(error?.message ?? "")")
                }
            }
        }
    }

    /// Each asks for the apps of its caller, as the other tests show. A new one needs its own test.
    @Test(.demo) func `these functions run with their owner's rights for isolated roles`() async throws {
        #expect(
            try await database.rows(
                """
                SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.prosecdef
                    AND has_function_privilege('carillon_tenant', p.oid, 'EXECUTE') ORDER BY 1
                """
            ) == [
                "(acknowledge_events)", "(apps_of_caller)", "(audience)", "(broadcast_progress)", "(broadcast_zones)",
                "(cancel_found)", "(cancel_messages)", "(channel)", "(forget)", "(installation_fault)",
                "(message_jobs)", "(message_status)", "(peek_events)", "(push)", "(push)", "(push_each)",
                "(record_channel)", "(remove_channel)", "(request_channel)", "(requeue_failures)", "(submit)",
                "(submit_activity)", "(submit_media)", "(submit_publication)", "(subscribe)", "(take_events)",
                "(trace)", "(unregister_token)", "(unsubscribe)",
            ]
        )
    }

    @Test(arguments: [7, 6, 4, 2])
    func `an isolated role stays isolated after migrating down and up`(_ version: Int) async throws {
        try await Self.isolated { database, role async throws in
            let enqueueing = "SELECT carillon.enqueue('other', '{aa}', 'x')"
            try await database.run("RESET ROLE")
            let migrator = Migrator(database.connection)
            _ = try await migrator.down(to: version)
            // Until then it has no rights.
            try await database.run("SET ROLE \(role)")
            for statement in ["SELECT name FROM carillon.apps", enqueueing] {
                let denied = await database.refusal(of: statement, "\(statement)")
                #expect(denied?.sqlState == "42501", "\(statement): \(denied?.message ?? "")")
            }
            try await database.run("RESET ROLE")
            _ = try await migrator.up()
            try await database.run("SET ROLE \(role)")
            #expect(try await database.rows("SELECT name FROM carillon.apps") == ["(demo)"])
            let refused = await database.refusal(of: enqueueing)
            #expect(refused?.sqlState == "42704", "\(refused?.message ?? "it may")")
            #expect(try await database.value("carillon.enqueue('demo', '{aa}', 'x') IS NOT NULL") == "true")
            // It does not see apps that are added later.
            try await database.run("RESET ROLE; INSERT INTO carillon.apps (name, topic) VALUES ('later', 'x')")
            #expect(try await database.value("SELECT bool_and(is_guarded) FROM carillon.apps") == "true")
            #expect(try await database.value("SELECT is_guarded FROM carillon.apps WHERE name = 'later'") == "true")
        }
    }

    @Test(.demo) func `without isolated roles, migrating down and up isolates none`() async throws {
        let migrator = Migrator(database.connection)
        _ = try await migrator.down(to: 7)
        _ = try await migrator.up()
        #expect(
            try await database.value(
                """
                SELECT count(*) FROM pg_class c WHERE c.relrowsecurity AND c.relnamespace = 'carillon'::regnamespace
                    AND c.relname <> 'app_roles'
                """
            ) == "0"
        )
        #expect(try await database.value("SELECT bool_or(is_guarded) FROM carillon.apps") == "false")
    }

    private static let plans = [
        "SELECT * FROM carillon.tokens WHERE app_id = 1 AND token = 'aa'",
        "SELECT * FROM carillon.results WHERE message_id = 7", "SELECT id FROM carillon.apps WHERE name = 'demo'",
        "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')",
    ]

    @Test(.demo, arguments: ["carillon_app", "carillon_worker"])
    func `isolation changes neither the rows nor the plans of other roles`(_ other: String) async throws {
        try await database.run(Self.setUp)
        let counts = "SELECT (SELECT count(*) FROM carillon.tokens), (SELECT count(*) FROM carillon.results)"
        func seen() async throws -> [String] {
            try await database.run("SET ROLE \(other)")
            var seen = try await database.rows(counts)
            for query in Self.plans where other == "carillon_app" || !query.hasPrefix("SELECT id") {
                seen.append(try await database.plan(query))
            }
            try await database.run("RESET ROLE")
            return seen
        }
        #expect(
            try await database.value("SELECT bool_or(c.relrowsecurity) FROM pg_class c WHERE c.relname = 'tokens'")
                == "false"
        )
        let before = try await seen()
        let role = "demo_\(database.connection.backendProcessID)"
        try await database.run("CREATE ROLE \(role); SELECT carillon.isolate_app('demo', '\(role)')")
        #expect(try await seen() == before)
        #expect(before.first == "(2,2)")
        // Rights that were granted by hand stay.
        try await database.run(
            "GRANT USAGE ON SCHEMA carillon TO pg_monitor; GRANT SELECT ON carillon.results TO pg_monitor"
        )
        try await database.run("SET ROLE pg_monitor")
        #expect(try await database.value("SELECT count(*) FROM carillon.results") == "2")
        try await database.run("RESET ROLE; SELECT carillon.unisolate_app('demo', '\(role)'); DROP ROLE \(role)")
        #expect(
            try await database.value(
                "SELECT count(*) FROM pg_class c WHERE c.relrowsecurity AND c.relname IN ('apps', 'messages', 'tokens')"
            ) == "0"
        )
    }

    @Test(.demo)
    func `unisolate_app accepts the name of a dropped role, and refuses a role that is not isolated`() async throws {
        let role = "demo_\(database.connection.backendProcessID)"
        try await database.run("CREATE ROLE \(role)")
        func refusal() async throws -> PostgresError? {
            await database.refusal(of: "SELECT carillon.unisolate_app('demo', '\(role)')")
        }
        let never = try await refusal()
        #expect(never?.sqlState == "42704")
        #expect(never?.message.contains("takes a role that is isolated to the app") == true)
        try await database.run("SELECT carillon.isolate_app('demo', '\(role)'); DROP ROLE \(role)")
        try await database.run("SELECT carillon.unisolate_app('demo', '\(role)')")
        #expect(try await database.value("SELECT count(*) FROM carillon.app_roles") == "0")
        #expect(
            try await database.value(
                "SELECT count(*) FROM pg_class c WHERE c.relrowsecurity AND c.relname IN ('apps', 'messages', 'tokens')"
            ) == "0"
        )
        #expect(try await refusal()?.sqlState == "42704")
    }

    @Test(.demo)
    func `a role that has wider rights, inherits none, or does not exist, cannot be isolated`() async throws {
        let role = "demo_\(database.connection.backendProcessID)"
        let shut = "shut_" + role
        try await database.run("CREATE ROLE \(role); GRANT carillon_app TO \(role); CREATE ROLE \(shut) NOINHERIT")
        for (app, name, said) in [
            ("demo", "'\(role)'", "which sees all apps as a member of carillon_app"),
            ("demo", "'\(shut)'", "which does not inherit rights"),
            ("demo", "'postgres'", "bypasses row-level security"),
            ("demo", "'nobody_here'", "takes the name of a role"),
            ("demo", "NULL", "takes the name of a role, got null"),
            ("nope", "'\(role)'", "takes the name of an app"),
        ] {
            let error = await database.refusal(of: "SELECT carillon.isolate_app('\(app)', \(name))")
            #expect(error?.message.contains(said) == true, "\(error?.message ?? "")")
        }
        try await database.run("DROP OWNED BY \(role); DROP ROLE \(role), \(shut)")
    }
}
