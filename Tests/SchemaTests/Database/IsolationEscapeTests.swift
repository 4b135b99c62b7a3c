import CarillonPostgres
import TestSupport
import Testing

/// Functions that run with their owner's rights, and that someone with other rights calls. Carillon's functions do not see
/// whose function called them.
@Suite struct IsolationEscapeTests {
    @Test(arguments: ["a new login", "pg_monitor"])
    func `an isolated role reaches no other app with a function of its own that a role without rights calls`(
        _ kind: String
    ) async throws {
        try await IsolationTests.isolated { database, role async throws in
            // Another login, or a role that it has been granted and sets.
            let caller = kind == "pg_monitor" ? kind : "stranger_\(database.connection.backendProcessID)"
            if caller != kind {
                try await database.run("RESET ROLE; CREATE ROLE \(caller); SET ROLE \(role)")
            }
            try await database.run(
                """
                CREATE FUNCTION pg_temp.run(command text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER
                AS $$ BEGIN RETURN QUERY EXECUTE command; END $$;
                SET ROLE \(caller)
                """
            )
            func run(_ call: String) async throws -> [String] {
                try await database.rows("SELECT pg_temp.run('SELECT \(call.replacing("'", with: "''"))')")
            }
            let calls = [
                "carillon.enqueue('other', '{aa}', 'x')::text", "carillon.cancel(201, 'other')::text",
                "carillon.register_token('other', 'cc')::text", "carillon.unregister_token('other', 'b1')::text",
                "carillon.requeue_failures('other')::text", "carillon.requeue_failures(reason => 'OfOther')::text",
                "carillon.broadcast_progress(101)::text", "carillon.channel('theirs')::text",
                "carillon.publish('other', 'theirs', '{}')::text", "carillon.request_channel('other')::text",
                "carillon.trace('other', 'me')::text", "carillon.subscribe('other', 'mine')::text",
                "carillon.unsubscribe('other', 'theirs')::text", "carillon.take_events('theirs')::text",
                "carillon.peek_events('other', 'theirs')::text", "carillon.take_events('theirs', app => 'other')::text",
                "carillon.acknowledge_events('other', 'theirs', '1')::text",
                "carillon.record_channel('other', 'BBBB', 0, 'mine')::text",
                "carillon.remove_channel('other', 'theirs')::text",
                "carillon.update_activity('other', '{aa}', '{}')::text", "carillon.audience('other')::text",
                "carillon.update_media('other', '{aa}', '{\"id\": 1}')::text",
            ]
            for call in calls + IsolationTests.pushes("other").map({ "\($0)::text" }) {
                let error = await #expect(throws: PostgresError.self, "\(call)") { try await run(call) }
                #expect(["42704", "P0002", "22023"].contains(error?.sqlState), "\(call): \(error?.message ?? "")")
                #expect(error?.hint?.contains("The apps are") != true, "\(call): \(error?.hint ?? "")")
            }
            #expect(try await run("carillon.cancel_messages('{200,201}')::text") == ["(0)"])
            #expect(try await run("count(*)::text FROM carillon.message_status(101)") == ["(0)"])
            #expect(try await run("count(*)::text FROM carillon.message_jobs(103)") == ["(0)"])
            // Not even its own, as nothing tells whose function it is.
            let refused = await #expect(throws: PostgresError.self) {
                try await run("carillon.enqueue('demo', '{aa}', 'x')::text")
            }
            #expect(refused?.hint?.contains("GRANT carillon_app") == true, "\(refused?.hint ?? "")")
            try await database.run("RESET ROLE")
            #expect(
                try await database.rows("SELECT app_id, id FROM carillon.pending ORDER BY 1, 2")
                    == ["(1,200)", "(2,200)", "(2,201)"]
            )
            // Whoever may call the functions without that one keeps what they may do.
            try await database.run("GRANT carillon_operator TO \(caller); SET ROLE \(caller)")
            #expect(try await database.value("carillon.cancel_message(201, 'other')") == "1")
            try await database.run("RESET ROLE; REVOKE carillon_operator FROM \(caller)")
            if caller != kind {
                try await database.run("DROP ROLE \(caller)")
            }
        }
    }

    /// Any login may create a type in `pg_temp`, and casts of it, which are found without a schema.
    @Test func `no cast that an isolated role has created runs with the rights of another`() async throws {
        try await IsolationTests.isolated { database, role async throws in
            try await database.run("CREATE TYPE pg_temp.trap AS ENUM ('x')")
            for type in ["json", "jsonb", "text"] {
                try await database.run(
                    """
                    CREATE FUNCTION pg_temp.as_\(type)(pg_temp.trap) RETURNS \(type) LANGUAGE plpgsql
                    AS $$ BEGIN RAISE 'a cast ran as %', current_user; END $$;
                    CREATE CAST (pg_temp.trap AS \(type)) WITH FUNCTION pg_temp.as_\(type)(pg_temp.trap) AS ASSIGNMENT
                    """
                )
            }
            let trap = "'x'::pg_temp.trap"
            let calls = [
                "push_each('demo', '{aa}', ARRAY[\(trap)])", "push('demo', '{aa}', \(trap))",
                "push('demo', '{aa}', \(trap), 1, NULL)", "enqueue('demo', '{aa}', \(trap))",
                "enqueue('demo', '{aa}', payload => \(trap))", "enqueue('demo', '{aa}', payloads => ARRAY[\(trap)])",
                "broadcast('demo', \(trap))", "start_activity('demo', '{aa}', 'A', \(trap), \(trap))",
                "update_activity('demo', '{aa}', \(trap))", "end_activity('demo', '{aa}', '{}', alert => \(trap))",
                "start_media('demo', '{aa}', \(trap))", "publish('demo', 'theirs', \(trap))",
            ]
            for call in calls {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.value("carillon.\(call)")
                }
                let expected =
                    call.hasPrefix("push_each")
                    ? "argument \"payloads\" takes an array of text, json or jsonb, got trap[]"
                    : "a cast ran as \(role)"
                #expect(error?.message == expected, "\(call)")
            }
            try await database.run("DROP TYPE pg_temp.trap CASCADE")
        }
    }

    @Test func `a role that is isolated in one database can do nothing in another of the same cluster`() async throws {
        try await IsolationTests.isolated { first, role async throws in
            #expect(try await first.value("carillon.enqueue('demo', '{aa}', 'x') IS NOT NULL") == "true")
            try await TestDatabase.withDemo { second async throws in
                let calls = [
                    "SELECT carillon.enqueue('demo', '{aa}', 'x')", "SELECT carillon.broadcast('demo', 'x')",
                    "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')",
                    "SELECT token FROM carillon.tokens", "SELECT carillon.cancel(1)", "SELECT name FROM carillon.apps",
                ]
                func isRefused() async throws {
                    try await second.run("SET ROLE \(role)")
                    for call in calls {
                        let error = await #expect(throws: PostgresError.self) { try await second.run(call) }
                        #expect(error?.sqlState == "42501", "\(call): \(error?.message ?? "")")
                    }
                    try await second.run("RESET ROLE")
                }
                try await isRefused()
                // Once another role is isolated here, that of the other database has no app.
                let other = "other_\(second.connection.backendProcessID)"
                try await second.run("CREATE ROLE \(other); SELECT carillon.isolate_app('demo', '\(other)')")
                try await second.run("SET ROLE \(role)")
                #expect(try await second.value("SELECT count(*) FROM carillon.apps") == "0")
                #expect(try await second.value("SELECT count(*) FROM carillon.tokens") == "0")
                for (call, state) in zip(calls, ["42704", "42704", "42501"]) {
                    let error = await #expect(throws: PostgresError.self, "\(call)") { try await second.run(call) }
                    #expect(error?.sqlState == state, "\(call): \(error?.message ?? "")")
                }
                try await second.run(
                    "RESET ROLE; SELECT carillon.unisolate_app('demo', '\(other)'); DROP ROLE \(other)"
                )
                try await isRefused()
            }
        }
    }

    @Test(.demo)
    func `a function that runs with the rights of carillon_app serves all its callers while no role is isolated`()
        async throws
    {
        let (role, caller) = (
            "app_\(database.connection.backendProcessID)", "web_\(database.connection.backendProcessID)"
        )
        try await database.run(
            """
            CREATE ROLE \(role); GRANT carillon_app TO \(role); CREATE ROLE \(caller); SET ROLE \(role);
            CREATE FUNCTION pg_temp.notify() RETURNS bigint LANGUAGE sql SECURITY DEFINER
            AS $$ SELECT carillon.enqueue('demo', '{aa}', 'x') $$;
            SET ROLE \(caller)
            """
        )
        let enqueueing = "SELECT pg_temp.notify() IS NOT NULL"
        #expect(try await database.value(enqueueing) == "true")
        try await database.run(
            "RESET ROLE; CREATE ROLE other_\(role); SELECT carillon.isolate_app('demo', 'other_\(role)'); SET ROLE \(caller)"
        )
        let refused = await #expect(throws: PostgresError.self) { try await database.run(enqueueing) }
        #expect(refused?.hint?.contains("carillon.isolate_app") == true, "\(refused?.hint ?? "")")
        try await database.run("RESET ROLE; SELECT carillon.isolate_app('demo', '\(caller)'); SET ROLE \(caller)")
        #expect(try await database.value(enqueueing) == "true")
        try await database.run("RESET ROLE")
        for name in [role, caller, "other_\(role)"] {
            try await database.run("DROP OWNED BY \(name); DROP ROLE \(name)")
        }
    }
}
