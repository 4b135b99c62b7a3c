import CarillonIO
import CarillonPostgres
import CarillonSchema
import TestSupport
import Testing

/// Applications that were written for an old server turn standard_conforming_strings off. PostgreSQL then reads the strings in
/// our functions differently, unless they say how they are to be read.
@Suite struct StringSettingTests {
    private static let off = "SET standard_conforming_strings = off; SET escape_string_warning = off; "

    /// Calls that return or refuse something after reading a string with a pattern or an escape.
    private static let calls = [
        "enqueue('demo', '{ab}', payload => jsonb_build_object('aps', jsonb_build_object('alert', 'Say \"a, b: c\"')))",
        "enqueue('demo', '{ab}', ' {\"title\": \"A: b\", \"body\": \"C, d\"}')",
        "enqueue('demo', '{ab}', ' { \"title\": broken')",
        "enqueue('demo', '{ab}', 'x', sound => ' {\"name\": \"a.caf\", \"critical\": 1, \"volume\": 0.5}')",
        "enqueue('demo', '{ab}', 'x', extra => jsonb_build_object('a', chr(92), 'b', '1: 2, 3'))",
        "enqueue('demo', '{ab}', 'x', push_type => 'background', priority => 7)",
        "enqueue('demo', '{ab}', 'x', priority => 7)",
        "enqueue('demo', '{ab}', 'x', collapse_id => ' a')",
        "enqueue('demo', '{ab}', 'x', collapse_id => 's')",
        "enqueue('demo', '{ab}', 'x', collapse_id => 'a' || chr(10) || chr(13) || chr(9) || chr(27))",
        "start_activity('demo', '{ab}', 'T', '{}', '{}', alert => ' {\"title\": \"A\", \"body\": \"B\"}')",
        "register_token('demo', 'ab' || chr(9))",
    ]

    /// What each call returned and enqueued, or its error.
    private func outcomes(in database: TestDatabase) async throws -> [String] {
        var outcomes: [String] = []
        for call in Self.calls {
            do {
                _ = try await database.value("carillon.\(call)")
                outcomes += try await database.rows(
                    "SELECT payload, collapse_id, priority FROM carillon.messages ORDER BY id DESC LIMIT 1"
                )
            } catch let error as PostgresError {
                outcomes.append("\(error.message) \(error.hint ?? "")")
            }
        }
        return outcomes
    }

    @Test(.demo) func `enqueue does the same whether standard_conforming_strings is on or off`() async throws {
        let usual = try await outcomes(in: database)
        // A function keeps the plan that it made first in a session.
        try await database.session { other in
            try await other.run(Self.off)
            let outcomes = try await outcomes(in: other)
            for (call, (outcome, usual)) in zip(Self.calls, zip(outcomes, usual)) {
                #expect(outcome == usual, "\(call)")
            }
        }
        #expect(usual.count == Self.calls.count && Set(usual).count > 8)
    }

    /// Only a string of the form E'…' means the same with either setting. PL/pgSQL reads a body when it first runs in a session.
    @Test func `no function has a backslash in any other string`() async throws {
        let strings = try await TestDatabase.with(.schema) { database in
            try await database.rows(
                #"""
                SELECT p.proname, position(chr(92) IN s.others) FROM pg_proc p
                CROSS JOIN LATERAL regexp_replace(p.prosrc, E'E''(\\\\.|[^''\\\\]|'''')*''', '', 'g') AS s(others)
                WHERE p.pronamespace = 'carillon'::regnamespace AND position(chr(92) IN p.prosrc) > 0
                """#
            )
        }
        #expect(strings.count > 6 && strings.allSatisfy { $0.hasSuffix(",0)") }, "\(strings)")
    }

    private static let definitions = """
        SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'carillon'::regnamespace
        UNION ALL SELECT proname || md5(prosrc) FROM pg_proc WHERE pronamespace = 'carillon'::regnamespace
        UNION ALL SELECT viewname || definition FROM pg_views WHERE schemaname = 'carillon'
        ORDER BY 1
        """

    @Test func `migrate makes the same schema in a database that has it off`() async throws {
        let usual = try await TestDatabase.with(.schema) { database in try await database.rows(Self.definitions) }
        try await withDatabaseOfOff { database in
            let connection = try await PostgresConnection.connect(
                database.url,
                settings: .unhurried,
                timeout: .seconds(60)
            )
            try await attempt {
                _ = try await Migrator(connection).up()
            } finally: {
                await connection.close()
            }
            #expect(Set(try await database.rows(Self.definitions)).symmetricDifference(usual) == [])
        }
    }

    @Test func `so does psql with what migrate sql prints`() async throws {
        let usual = try await TestDatabase.with(.schema) { database in try await database.rows(Self.definitions) }
        try await withDatabaseOfOff { database in
            try await TemporaryFolder.with { folder in
                let file = try folder.write("schema.sql", try Migrator.sql())
                var command = ChildProcess.Command("psql", ["-Xq", "-v", "ON_ERROR_STOP=1", "-f", file, database.url])
                command.output = .file(folder.file("said"))
                command.error = .file(folder.file("said"))
                let child = try ChildProcess(command)
                let exit = try await child.wait(on: TestLoop.shared, until: .now + .seconds(180))
                let said = try folder.read("said")
                #expect(exit == .status(0), "\(said)")
            }
            #expect(Set(try await database.rows(Self.definitions)).symmetricDifference(usual) == [])
        }
    }

    private func withDatabaseOfOff(_ body: (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with(.nothing) { database in
            try await database.run(
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database());
                END $$
                """
            )
            try await body(database)
        }
    }
}
