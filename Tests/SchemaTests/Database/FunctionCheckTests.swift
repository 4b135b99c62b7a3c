import CarillonPostgres
import TestSupport
import Testing

/// plpgsql_check reads each function as PostgreSQL does when it is called for the first time: what is misspelled in a branch that
/// no other test enters is found here.
@Suite struct FunctionCheckTests {
    @Sendable private static func isInstalled() async throws -> Bool {
        try await TestDatabase.with(.nothing) { database in
            try await database.number("SELECT count(*) FROM pg_available_extensions WHERE name = 'plpgsql_check'") == 1
        }
    }

    /// A function of a trigger is checked with each table that has it.
    private static let findings = """
        SELECT DISTINCT f.name, c.lineno, c.message FROM (
            SELECT DISTINCT p.oid, p.oid::regproc AS name, coalesce(t.tgrelid, 0) AS relation
            FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang LEFT JOIN pg_trigger t ON t.tgfoid = p.oid AND t.tgparentid = 0
            WHERE l.lanname = 'plpgsql' AND p.pronamespace = 'carillon'::regnamespace
                AND (p.prorettype <> 'trigger'::regtype OR t.oid IS NOT NULL)) f
        CROSS JOIN LATERAL public.plpgsql_check_function_tb(f.oid, f.relation, fatal_errors => false) c
        WHERE c.level = 'error' OR c.message ~ '^unused |never read'
        """

    @Test(.enabled("plpgsql_check is not installed: apt-get install postgresql-VERSION-plpgsql-check", isInstalled))
    func `no function has an error or a variable that nothing uses`() async throws {
        try await TestDatabase.with(.schema) { database in
            try await database.run("CREATE EXTENSION plpgsql_check SCHEMA public")
            let found = try await database.rows(Self.findings)
            #expect(found == [], "\(found)")
            try await database.run(
                """
                CREATE FUNCTION carillon.wrong() RETURNS void LANGUAGE plpgsql AS
                $$ DECLARE forgotten integer; BEGIN IF false THEN PERFORM nothing FROM carillon.apps; END IF; END $$
                """
            )
            let findings = try await database.rows(Self.findings).joined(separator: "\n")
            #expect(findings.contains("column \"\"nothing\"\" does not exist"), "\(findings)")
            #expect(findings.contains("unused variable \"\"forgotten\"\""), "\(findings)")
        }
    }

    /// An application gets an error with one line of context. All other functions leave it to refuse(), which adds a second.
    @Test
    func `functions for applications raise refusals themselves, and all others leave it to refuse`() async throws {
        let wrong = """
            SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname <> 'app_id'
                AND obj_description(p.oid, 'pg_proc') NOT LIKE 'Internal: the HTTP API.%'
                AND CASE WHEN has_function_privilege('carillon_app', p.oid, 'EXECUTE')
                    THEN p.prosrc ~ 'carillon\\.(refuse|app_id)\\(' ELSE p.prosrc ~ 'COLUMN = .*refusal' END
            """
        let found = try await TestDatabase.with(.schema) { try await $0.rows(wrong) }
        #expect(found == [])
    }

    @Test(
        .demo,
        arguments: [
            "watch_tokens('nope', 'pg_class', 'relname', 'relname')", "unwatch_tokens('nope', 'pg_class')",
            "reap('nope')", "reap_batch('nope')", "reapable('nope')", "isolate_app('nope', 'nobody')",
            "unisolate_app('nope', 'nobody')",
        ]
    )
    func `a function for the owner refuses an unknown app by name`(call: String) async throws {
        let error = await database.refusal(ofValue: "carillon.\(call)")
        #expect(error?.sqlState == "42704")
        #expect(error?.message.contains("takes the name of an app, got 'nope'") == true, "\(String(describing: error))")
    }
}
