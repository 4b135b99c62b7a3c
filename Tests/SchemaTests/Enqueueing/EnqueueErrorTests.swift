import CarillonPostgres
import TestSupport
import Testing

/// Every refusal: an error in the caller's own transaction that names the argument, what it takes and what it got.
@Suite struct EnqueueErrorTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        let arguments: String
        let argument: String
        let takes: String
        var got = ""
        var sqlState = "22023"

        var testDescription: String { arguments }
    }

    private static let refusals = [
        Refusal(
            arguments: "app => 'nope', tokens => '{ab}', alert => 'x'",
            argument: "app",
            takes: "the name of an app",
            got: "'nope'",
            sqlState: "42704"
        ),
        Refusal(
            arguments: "app => NULL, tokens => '{ab}', alert => 'x'",
            argument: "app",
            takes: "the name of an app",
            got: "NULL",
            sqlState: "42704"
        ),
        Refusal(
            arguments: "tokens => '{}', alert => 'x', strict => true",
            argument: "tokens",
            takes: "one or more",
            got: "none"
        ),
        Refusal(
            arguments: "tokens => NULL, alert => 'x', strict => true",
            argument: "tokens",
            takes: "one or more",
            got: "null"
        ),
        Refusal(
            arguments: "tokens => '{{ab},{cd}}', alert => 'x'",
            argument: "tokens",
            takes: "an array of device tokens",
            got: "an array of arrays"
        ),
        Refusal(
            arguments: "tokens => '{abc}', alert => 'x'",
            argument: "tokens",
            takes: "hex",
            got: "'abc' at position 1"
        ),
        Refusal(
            arguments: "tokens => '{ab,xy}', alert => 'x'",
            argument: "tokens",
            takes: "hex",
            got: "'xy' at position 2"
        ),
        Refusal(
            arguments: "tokens => '{ab,NULL}', alert => 'x'",
            argument: "tokens",
            takes: "hex",
            got: "NULL at position 2"
        ),
        Refusal(
            arguments: "tokens => '[5:6]={ab,xy}', alert => 'x'",
            argument: "tokens",
            takes: "hex",
            got: "'xy' at position 2"
        ),
        Refusal(arguments: "tokens => '{\"ab \"}', alert => 'x'", argument: "tokens", takes: "hex", got: "'ab '"),
        Refusal(arguments: "tokens => ARRAY[E'ab\\n'], alert => 'x'", argument: "tokens", takes: "hex"),
        Refusal(arguments: "tokens => ARRAY[''], alert => 'x'", argument: "tokens", takes: "hex", got: "''"),
        Refusal(arguments: "tokens => ARRAY['../'], alert => 'x'", argument: "tokens", takes: "hex"),
        Refusal(arguments: "tokens => ARRAY['%00'], alert => 'x'", argument: "tokens", takes: "hex"),
        Refusal(arguments: "tokens => ARRAY['äö'], alert => 'x'", argument: "tokens", takes: "hex"),
        Refusal(arguments: "tokens => ARRAY[repeat('a', 1000)], alert => 'x'", argument: "tokens", takes: "2 to 512"),
        Refusal(arguments: "tokens => '{ab}'", argument: "alert", takes: "unless badge"),
        Refusal(arguments: "tokens => '{ab}', extra => '{}'", argument: "alert", takes: "unless badge"),
        Refusal(arguments: "tokens => '{ab}', content_available => false", argument: "alert", takes: "unless badge"),
        Refusal(arguments: "tokens => '{ab}', alert => '7'::jsonb", argument: "alert", takes: "JSON object", got: "7"),
        Refusal(arguments: "tokens => '{ab}', alert => 'null'::jsonb", argument: "alert", takes: "JSON object"),
        Refusal(arguments: "tokens => '{ab}', alert => 7", argument: "alert", takes: "JSON object", got: "7"),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', title => 'y'",
            argument: "alert",
            takes: "null if title, subtitle or body is given",
            got: "a value"
        ),
        Refusal(
            arguments: #"tokens => '{ab}', alert => '{"title":"x"}'::jsonb, body => 'y'"#,
            argument: "alert",
            takes: "null if title, subtitle or body is given",
            got: "a value"
        ),
        Refusal(arguments: "tokens => '{ab}', payload => '{}', body => 'x'", argument: "payload", takes: "null if"),
        Refusal(
            arguments: "tokens => '{ab}', alert => '[]'::jsonb",
            argument: "alert",
            takes: "JSON object",
            got: "[]"
        ),
        Refusal(arguments: "tokens => '{ab}', badge => -1", argument: "badge", takes: "from 0", got: "-1"),
        Refusal(
            arguments: "tokens => '{ab}', badge => 2147483648",
            argument: "badge",
            takes: "to 2147483647",
            got: "2147483648"
        ),
        Refusal(arguments: "tokens => '{ab}', extra => '[1]'", argument: "extra", takes: "a JSON object", got: "[1]"),
        Refusal(arguments: #"tokens => '{ab}', extra => '{"aps":{}}'"#, argument: "extra", takes: "without the"),
        Refusal(arguments: "tokens => '{ab}', payload => '[]'", argument: "payload", takes: "a JSON object", got: "[]"),
        Refusal(arguments: "tokens => '{ab}', payload => 'null'", argument: "payload", takes: "a JSON object"),
        Refusal(
            arguments: #"tokens => '{ab}', payload => '{"aps":{}'"#,
            argument: "payload",
            takes: "a JSON object",
            got: #"{"aps":{}"#,
            sqlState: "22P02"
        ),
        Refusal(arguments: "tokens => '{ab}', payload => 7", argument: "payload", takes: "a JSON object", got: "7"),
        Refusal(
            arguments: "tokens => '{ab}', payload => '{}', alert => 'x'",
            argument: "payload",
            takes: "null if",
            got: "a value"
        ),
        Refusal(arguments: "tokens => '{ab}', payload => '{}', extra => '{}'", argument: "payload", takes: "null if"),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', push_type => 'sms'",
            argument: "push_type",
            takes: "one of alert, background",
            got: "'sms'"
        ),
        Refusal(arguments: "tokens => '{ab}', alert => 'x', priority => 7", argument: "priority", takes: "10, 5 or 1"),
        Refusal(
            arguments: "tokens => '{ab}', content_available => true, priority => 10",
            argument: "priority",
            takes: "background",
            got: "10"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', expires_at => 'infinity'",
            argument: "expires_at",
            takes: "a time",
            got: "'infinity'"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', expires_at => '1969-12-31Z'",
            argument: "expires_at",
            takes: "from the year 2000 to 2200"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', run_at => '2100-01-02Z', expires_at => '2100-01-01Z'",
            argument: "expires_at",
            takes: "after run_at"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', reference => repeat('é', 512) || 'x'",
            argument: "reference",
            takes: "at most 1024 bytes",
            got: "(1025 bytes)"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', run_at => 'infinity'",
            argument: "run_at",
            takes: "a time from the year 2000 to 2200"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', collapse_id => repeat('ä', 33)",
            argument: "collapse_id",
            takes: "1 to 64 bytes",
            got: "(66 bytes)"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', collapse_id => ''",
            argument: "collapse_id",
            takes: "1 to 64"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', collapse_id => E'a\\r\\nb: c'",
            argument: "collapse_id",
            takes: "without control characters"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', collapse_id => ' a'",
            argument: "collapse_id",
            takes: "spaces"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', topic => E'a\\nb'",
            argument: "topic",
            takes: "visible ASCII"
        ),
        Refusal(arguments: "tokens => '{ab}', alert => 'x', topic => ''", argument: "topic", takes: "visible ASCII"),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', lane => 3",
            argument: "lane",
            takes: "0 (urgent)",
            got: "3"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', on_unknown => 'maybe'",
            argument: "on_unknown",
            takes: "'retry' or 'fail'",
            got: "'maybe'"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', dedupe_key => ''",
            argument: "dedupe_key",
            takes: "1 to 1000"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', on_duplicate => 'raise'",
            argument: "on_duplicate",
            takes: "'null' or 'holder'",
            got: "'raise'"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', dedupe_for => '1 day'",
            argument: "dedupe_for",
            takes: "together with dedupe_key",
            got: "without dedupe_key"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => 'x', dedupe_key => 'k', dedupe_for => '-1 s'",
            argument: "dedupe_for",
            takes: "above 0"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => repeat('a', 4077)",
            argument: "alert",
            takes: "at most 4096 bytes",
            got: "4097 bytes",
            sqlState: "54000"
        ),
        Refusal(
            arguments: #"tokens => '{ab}', payload => ('{"a":"' || repeat('ä', 2045) || '"}')::json"#,
            argument: "payload",
            takes: "at most 4096 bytes",
            got: "4098 bytes",
            sqlState: "54000"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => repeat('a', 5101), push_type => 'voip'",
            argument: "alert",
            takes: "at most 5120 bytes",
            got: "5121 bytes",
            sqlState: "54000"
        ),
        Refusal(
            arguments: "tokens => '{ab}', alert => repeat('a', 16000000)",
            argument: "alert",
            takes: "4096",
            sqlState: "54000"
        ),
    ]

    @Test func `every refusal names the argument, what it takes and what it got, and enqueues nothing`() async throws {
        try await TestDatabase.withDemo { database async throws in
            for refusal in Self.refusals {
                let app = refusal.arguments.hasPrefix("app") ? "" : "app => 'demo', "
                let error = await #expect(throws: PostgresError.self, "\(refusal.arguments)") {
                    try await database.value("carillon.enqueue(\(app)\(refusal.arguments))")
                }
                #expect(error?.sqlState == refusal.sqlState, "\(refusal.arguments)")
                let message = error?.message ?? ""
                #expect(message.hasPrefix("argument \"\(refusal.argument)\" takes "), "\(refusal.arguments)")
                #expect(message.contains(refusal.takes), "\(message)")
                #expect(message.contains(", got \(refusal.got)") || message.hasSuffix(refusal.got), "\(message)")
                #expect(message.count < 400)
            }
            #expect(try await database.value("SELECT count(*) FROM carillon.pending") == "0")
        }
    }

    private static let fitting = [
        "alert => repeat('a', 4076)", #"payload => ('{"a":"' || repeat('a', 4088) || '"}')::json"#,
        "alert => repeat('a', 5100), push_type => 'voip'", "alert => 'x', collapse_id => repeat('ä', 32)",
    ]

    @Test func `values of exactly the largest size are accepted`() async throws {
        try await TestDatabase.withDemo { database async throws in
            for arguments in Self.fitting {
                #expect(try await database.value("carillon.enqueue('demo', '{ab}', \(arguments))") != nil)
            }
        }
    }

    private static let foreign = [
        ("extra => '{\"a\":}'", "22P02"), ("nonsense => 1", "42883"),
        ("badge => 'many'", "22P02"),
        (#"extra => '{"a":"\u0000"}'"#, "22P05"),
        (#"payload => ('{"a":"' || chr(1) || '"}')::json"#, "22P02"),
    ]

    @Test func `invalid JSON, invalid numbers and unknown arguments are refused by PostgreSQL itself`() async throws {
        try await TestDatabase.withDemo { database async throws in
            for (arguments, state) in Self.foreign {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.value("carillon.enqueue(app => 'demo', tokens => '{ab}', \(arguments))")
                }
                #expect(error?.sqlState == state, "\(arguments)")
            }
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
        ]
        try await TestDatabase.withDemo { database async throws in
            try await database.run(Self.contextOf)
            for call in calls {
                let context = try await database.value("pg_temp.context_of(\(call.quoted))")
                #expect(context?.split(separator: "\n").count == 1, "\(call): \(context ?? "")")
                #expect(context?.contains("line") == true && (context?.count ?? 0) < 120, "\(context ?? "")")
            }
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
        try await TestDatabase.withDemo { database async throws in
            let error = await #expect(throws: PostgresError.self) {
                try await database.value("carillon.enqueue('Demo', '{ab}', 'x')")
            }
            #expect(error?.hint == "The apps are: demo.")
            try await database.run("DELETE FROM carillon.apps")
            let none = await #expect(throws: PostgresError.self) {
                try await database.value("carillon.enqueue('Demo', '{ab}', 'x')")
            }
            #expect(none?.hint?.contains("carillon app add") == true)
        }
    }

    @Test func `a refusal is an error in the caller's own transaction`() async throws {
        try await TestDatabase.withDemo { database async throws in
            await #expect(throws: PostgresError.self) {
                try await database.run(
                    """
                    BEGIN;
                    INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{ab}', '{}');
                    SELECT carillon.enqueue('demo', '{xy}', 'x');
                    COMMIT
                    """
                )
            }
            try await database.run("ROLLBACK")
            #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
        }
    }
}

extension String {
    fileprivate var quoted: String { "'\(replacing("'", with: "''"))'" }
}
