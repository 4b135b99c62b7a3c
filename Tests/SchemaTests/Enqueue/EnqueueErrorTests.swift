import CarillonPostgres
import TestSupport
import Testing

/// Every refusal: an error in the caller's own transaction that names the argument, what it takes and what it got.
@Suite(.demo) struct EnqueueErrorTests {
    private struct Refusal {
        let arguments, argument, takes, got, sqlState: String

        init(_ arguments: String, _ argument: String, _ takes: String, _ got: String = "", sqlState: String = "22023") {
            (self.arguments, self.argument, self.takes) = (arguments, argument, takes)
            (self.got, self.sqlState) = (got, sqlState)
        }
    }

    private static let refusals = [
        Refusal(
            "app => 'nope', tokens => '{ab}', alert => 'x'",
            "app",
            "the name of an app",
            "'nope'",
            sqlState: "42704"
        ),
        Refusal("app => NULL, tokens => '{ab}', alert => 'x'", "app", "the name of an app", "null", sqlState: "42704"),
        Refusal("tokens => '{}', alert => 'x', strict => true", "tokens", "one or more", "none"),
        Refusal("tokens => NULL, alert => 'x', strict => true", "tokens", "one or more", "null"),
        Refusal("tokens => '{{ab},{cd}}', alert => 'x'", "tokens", "an array of device tokens", "an array of arrays"),
        Refusal("tokens => '{abc}', alert => 'x'", "tokens", "hex", "'abc' at position 1"),
        Refusal("tokens => '{ab,xy}', alert => 'x'", "tokens", "hex", "'xy' at position 2"),
        Refusal("tokens => '{ab,NULL}', alert => 'x'", "tokens", "hex", "null at position 2"),
        Refusal("tokens => '[5:6]={ab,xy}', alert => 'x'", "tokens", "hex", "'xy' at position 2"),
        Refusal("tokens => '{\"ab \"}', alert => 'x'", "tokens", "hex", "'ab '"),
        Refusal("tokens => ARRAY[E'ab\\n'], alert => 'x'", "tokens", "hex"),
        Refusal("tokens => ARRAY[''], alert => 'x'", "tokens", "hex", "''"),
        Refusal("tokens => ARRAY['../'], alert => 'x'", "tokens", "hex"),
        Refusal("tokens => ARRAY['%00'], alert => 'x'", "tokens", "hex"),
        Refusal("tokens => ARRAY['äö'], alert => 'x'", "tokens", "hex"),
        Refusal("tokens => ARRAY[repeat('a', 1000)], alert => 'x'", "tokens", "2 to 512"),
        Refusal("tokens => '{ab}'", "alert", "unless badge"),
        Refusal("tokens => '{ab}', extra => '{}'", "alert", "unless badge"),
        Refusal("tokens => '{ab}', content_available => false", "alert", "unless badge"),
        Refusal("tokens => '{ab}', alert => '7'::jsonb", "alert", "JSON object", "7"),
        Refusal("tokens => '{ab}', alert => 'null'::jsonb", "alert", "JSON object"),
        Refusal("tokens => '{ab}', alert => 7", "alert", "JSON object", "7"),
        Refusal(
            "tokens => '{ab}', alert => 'x', title => 'y'",
            "alert",
            "null if title, subtitle or body is given",
            "a value"
        ),
        Refusal(
            #"tokens => '{ab}', alert => '{"title":"x"}'::jsonb, body => 'y'"#,
            "alert",
            "null if title, subtitle or body is given",
            "a value"
        ),
        Refusal("tokens => '{ab}', payload => '{}', body => 'x'", "payload", "null if"),
        Refusal("tokens => '{ab}', alert => '[]'::jsonb", "alert", "JSON object", "[]"),
        Refusal("tokens => '{ab}', badge => -1", "badge", "from 0", "-1"),
        Refusal("tokens => '{ab}', badge => 2147483648", "badge", "to 2147483647", "2147483648"),
        Refusal("tokens => '{ab}', extra => '[1]'", "extra", "a JSON object", "[1]"),
        Refusal(#"tokens => '{ab}', extra => '{"aps":{}}'"#, "extra", "without the"),
        Refusal("tokens => '{ab}', payload => '[]'", "payload", "a JSON object", "[]"),
        Refusal("tokens => '{ab}', payload => 'null'", "payload", "a JSON object"),
        Refusal(
            #"tokens => '{ab}', payload => '{"aps":{}'"#,
            "payload",
            "a JSON object",
            #"{"aps":{}"#,
            sqlState: "22P02"
        ),
        Refusal("tokens => '{ab}', payload => 7", "payload", "a JSON object", "7"),
        Refusal("tokens => '{ab}', payload => '{}', alert => 'x'", "payload", "null if", "a value"),
        Refusal("tokens => '{ab}', payload => '{}', extra => '{}'", "payload", "null if"),
        Refusal("tokens => '{ab}', alert => 'x', push_type => 'sms'", "push_type", "one of alert, background", "'sms'"),
        Refusal("tokens => '{ab}', alert => 'x', priority => 7", "priority", "10, 5 or 1"),
        Refusal("tokens => '{ab}', content_available => true, priority => 10", "priority", "background", "10"),
        Refusal("tokens => '{ab}', alert => 'x', expires_at => 'infinity'", "expires_at", "a time", "'infinity'"),
        Refusal(
            "tokens => '{ab}', alert => 'x', expires_at => '1969-12-31Z'",
            "expires_at",
            "from the year 2000 to 2200"
        ),
        Refusal(
            "tokens => '{ab}', alert => 'x', run_at => '2100-01-02Z', expires_at => '2100-01-01Z'",
            "expires_at",
            "after run_at"
        ),
        Refusal(
            "tokens => '{ab}', alert => 'x', reference => repeat('é', 512) || 'x'",
            "reference",
            "at most 1024 bytes",
            "(1025 bytes)"
        ),
        Refusal("tokens => '{ab}', alert => 'x', run_at => 'infinity'", "run_at", "a time from the year 2000 to 2200"),
        Refusal(
            "tokens => '{ab}', alert => 'x', collapse_id => repeat('ä', 33)",
            "collapse_id",
            "1 to 64 bytes",
            "(66 bytes)"
        ),
        Refusal("tokens => '{ab}', alert => 'x', collapse_id => ''", "collapse_id", "1 to 64"),
        Refusal(
            "tokens => '{ab}', alert => 'x', collapse_id => E'a\\r\\nb: c'",
            "collapse_id",
            "without control characters"
        ),
        Refusal("tokens => '{ab}', alert => 'x', collapse_id => ' a'", "collapse_id", "spaces"),
        Refusal("tokens => '{ab}', alert => 'x', topic => E'a\\nb'", "topic", "visible ASCII"),
        Refusal("tokens => '{ab}', alert => 'x', topic => ''", "topic", "visible ASCII"),
        Refusal("tokens => '{ab}', alert => 'x', lane => 3", "lane", "0 (urgent)", "3"),
        Refusal("tokens => '{ab}', alert => 'x', on_unknown => 'maybe'", "on_unknown", "'retry' or 'fail'", "'maybe'"),
        Refusal("tokens => '{ab}', alert => 'x', dedupe_key => ''", "dedupe_key", "1 to 1000"),
        Refusal(
            "tokens => '{ab}', alert => 'x', on_duplicate => 'raise'",
            "on_duplicate",
            "'null' or 'existing'",
            "'raise'"
        ),
        Refusal(
            "tokens => '{ab}', alert => 'x', dedupe_for => '1 day'",
            "dedupe_for",
            "together with dedupe_key",
            "without dedupe_key"
        ),
        Refusal("tokens => '{ab}', alert => 'x', dedupe_key => 'k', dedupe_for => '-1 s'", "dedupe_for", "above 0"),
        Refusal(
            "tokens => '{ab}', alert => repeat('a', 4077)",
            "alert",
            "at most 4096 bytes",
            "4097 bytes",
            sqlState: "54000"
        ),
        Refusal(
            #"tokens => '{ab}', payload => ('{"a":"' || repeat('ä', 2045) || '"}')::json"#,
            "payload",
            "at most 4096 bytes",
            "4098 bytes",
            sqlState: "54000"
        ),
        Refusal(
            "tokens => '{ab}', alert => repeat('a', 5101), push_type => 'voip'",
            "alert",
            "at most 5120 bytes",
            "5121 bytes",
            sqlState: "54000"
        ),
        Refusal("tokens => '{ab}', alert => repeat('a', 16000000)", "alert", "4096", sqlState: "54000"),
    ]

    @Test func `every refusal names the argument, what it takes and what it got, and enqueues nothing`() async throws {
        for refusal in Self.refusals {
            let app = refusal.arguments.hasPrefix("app") ? "" : "app => 'demo', "
            let error = await database.refusal(
                ofValue: "carillon.enqueue(\(app)\(refusal.arguments))",
                "\(refusal.arguments)"
            )
            #expect(error?.sqlState == refusal.sqlState, "\(refusal.arguments)")
            let message = error?.message ?? ""
            #expect(message.hasPrefix("argument \"\(refusal.argument)\" takes "), "\(refusal.arguments)")
            #expect(message.contains(refusal.takes), "\(message)")
            #expect(message.contains(", got \(refusal.got)") || message.hasSuffix(refusal.got), "\(message)")
            #expect(message.count < 400)
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.pending") == "0")
    }

    private static let fitting = [
        "alert => repeat('a', 4076)", #"payload => ('{"a":"' || repeat('a', 4088) || '"}')::json"#,
        "alert => repeat('a', 5100), push_type => 'voip'", "alert => 'x', collapse_id => repeat('ä', 32)",
    ]

    @Test func `values of exactly the largest size are accepted`() async throws {
        for arguments in Self.fitting {
            #expect(try await database.value("carillon.enqueue('demo', '{ab}', \(arguments))") != nil)
        }
    }

    private static let foreign = [
        ("extra => '{\"a\":}'", "22P02"), ("nonsense => 1", "42883"),
        ("badge => 'many'", "22P02"),
        (#"extra => '{"a":"\u0000"}'"#, "22P05"),
        (#"payload => ('{"a":"' || chr(1) || '"}')::json"#, "22P02"),
    ]

    @Test func `invalid JSON, invalid numbers and unknown arguments are refused by PostgreSQL itself`() async throws {
        for (arguments, state) in Self.foreign {
            let error = await database.refusal(
                ofValue: "carillon.enqueue(app => 'demo', tokens => '{ab}', \(arguments))"
            )
            #expect(error?.sqlState == state, "\(arguments)")
        }
    }

    @Test func `an error has one line of context, and names no internal function`() async throws {
        let calls = [
            "carillon.enqueue('nope', '{ab}', 'x')", "carillon.enqueue('demo', '{xy}', 'x')",
            "carillon.enqueue('demo', '{ab}', '{}'::jsonb, badge => -1)",
            "carillon.enqueue('demo', '{ab}', payload => '{')",
            "carillon.enqueue('demo', '{ab}', 'x', priority => 7)",
            "carillon.enqueue('demo', '{}', 'x', strict => true)",
            "carillon.broadcast('demo', 'x', strict => true)", "carillon.broadcast('demo', '7'::jsonb)",
            "carillon.broadcast_progress(999)", "carillon.message_status()", "carillon.requeue_failures('nope')",
            "carillon.requeue_failures(since => '-1 s')", "carillon.register_token('nope', 'ab')",
            "carillon.register_token('demo', 'xy')", "carillon.cancel(1, 'nope')",
            "carillon.cancel_messages('{1}', 'nope')", "carillon.cancel_broadcast(1, 'nope')",
            "carillon.broadcast_progress(1, 'nope')", "carillon.message_status(1, app => 'nope')",
            "carillon.trace('nope', 'me')", "carillon.trace('demo')", "carillon.trace('demo', token => 'xy')",
            "carillon.subscribe('nope', 'c')", "carillon.subscribe('demo', 'c', '{nope}')",
            "carillon.subscribe('demo', 'webhook:w')", "carillon.unsubscribe('demo', 'webhook:w')",
            "carillon.take_events('webhook:w')",
            "carillon.unsubscribe('nope', 'c')", "carillon.take_events('nope')", "carillon.take_events('nope', 0)",
            "carillon.take_events('c', app => 'nope')",
        ]
        try await database.run(Self.contextOf)
        for call in calls {
            let context = try await database.value("pg_temp.context_of(\(call.quoted))")
            #expect(context?.split(separator: "\n").count == 1, "\(call): \(context ?? "")")
            // PostgreSQL names the function that was called with its types, which are many for this one.
            let types = "register_token(text,text,text,text,timestamp with time zone,text,text,text,text,jsonb)"
            let short = context?.replacing(types, with: "register_token()")
            #expect(short?.contains("line") == true && (short?.count ?? 0) < 120, "\(context ?? "")")
        }
    }

    /// What PostgreSQL adds to the error of a call as its context.
    private static let contextOf = """
        CREATE FUNCTION pg_temp.context_of(call text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE
            context text;
        BEGIN
            EXECUTE 'SELECT ' || call;
            RETURN NULL;
        EXCEPTION
            WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
                -- The last two lines are of this function.
                RETURN regexp_replace(context, '\nSQL statement "SELECT .*$', '');
        END
        $$
        """

    @Test func `the error for an unknown app lists the apps`() async throws {
        let error = await database.refusal(ofValue: "carillon.enqueue('Demo', '{ab}', 'x')")
        #expect(error?.hint == "The apps are: demo.")
        try await database.run("INSERT INTO carillon.apps (name) SELECT 'e' || i FROM generate_series(1, 20) i")
        let many = await database.refusal(ofValue: "carillon.enqueue('Demo', '{ab}', 'x')")
        #expect(many?.hint == "The apps are: demo, e1, e10, e11, e12, e13, e14, e15, e16, e17 and 11 more.")
        try await database.run("DELETE FROM carillon.apps")
        let none = await database.refusal(ofValue: "carillon.enqueue('Demo', '{ab}', 'x')")
        #expect(none?.hint?.contains("carillon app add") == true)
    }

    @Test func `a refusal is an error in the caller's own transaction`() async throws {
        let error = await database.refusal(
            of: """
                BEGIN;
                INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{ab}', '{}');
                SELECT carillon.enqueue('demo', '{xy}', 'x');
                COMMIT
                """
        )
        #expect(error?.sqlState == "22023")
        try await database.run("ROLLBACK")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
    }
}

extension String {
    fileprivate var quoted: String { "'\(replacing("'", with: "''"))'" }
}
