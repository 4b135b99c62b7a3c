import TestSupport
import Testing

/// What runs with the rights of its caller: functions, triggers, views and expressions of tables. No other test has each of them
/// reach every call and every table in it.
@Suite(.demo) struct ReachedRightsTests {
    private static let texts = #"""
        WITH roles AS (
            SELECT r.role FROM unnest(carillon.roles_of_all_apps() || name 'carillon_tenant') AS r(role)
        ), changed AS (
            SELECT r.role, c.oid, c.relname AS name FROM roles r
            JOIN pg_class c ON c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p', 'v')
            WHERE has_any_column_privilege(r.role, c.oid, 'INSERT, UPDATE') OR has_table_privilege(r.role, c.oid, 'DELETE')
        ), texts AS (
            SELECT r.role, p.proname AS name, regexp_replace(p.prosrc, '--[^\n]*', '', 'g') AS text
            FROM roles r JOIN pg_proc p ON p.pronamespace = 'carillon'::regnamespace AND NOT p.prosecdef
            WHERE has_function_privilege(r.role, p.oid, 'EXECUTE') OR EXISTS (
                SELECT FROM pg_trigger t JOIN changed c ON c.oid = t.tgrelid WHERE t.tgfoid = p.oid AND c.role = r.role)
        )
        """#

    @Test func `a role may execute each function that runs with its rights`() async throws {
        let missing = try await database.rows(
            #"""
            \#(Self.texts), calling AS (
                TABLE texts
                UNION ALL
                SELECT r.role, c.relname, pg_get_viewdef(c.oid)
                FROM roles r JOIN pg_class c ON c.relnamespace = 'carillon'::regnamespace AND c.relkind = 'v'
                WHERE has_any_column_privilege(r.role, c.oid, 'SELECT')
                UNION ALL
                SELECT c.role, c.name, pg_get_expr(d.adbin, d.adrelid) FROM changed c JOIN pg_attrdef d ON d.adrelid = c.oid
                UNION ALL
                SELECT c.role, c.name, pg_get_constraintdef(k.oid)
                FROM changed c JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'c'
                UNION ALL
                SELECT r.role, p.policyname, concat_ws(' ', p.qual, p.with_check)
                FROM roles r JOIN pg_policies p ON p.schemaname = 'carillon'
                    AND (p.roles @> ARRAY[r.role] OR p.roles = '{public}')
            )
            SELECT DISTINCT t.role, t.name, f.proname
            FROM calling t CROSS JOIN LATERAL regexp_matches(t.text, 'carillon\.(\w+)\(', 'g') AS c(names)
            JOIN pg_proc f ON f.pronamespace = 'carillon'::regnamespace AND f.proname = c.names[1]
            WHERE NOT has_function_privilege(t.role, f.oid, 'EXECUTE')
            """#
        )
        #expect(missing == [])
    }

    @Test func `a role may do to each table what functions do to it with its rights`() async throws {
        let missing = try await database.rows(
            #"""
            \#(Self.texts), used AS (
                SELECT t.role, t.name, c.oid, c.relname, CASE upper(u.words[1]) WHEN 'INTO' THEN 'INSERT'
                    WHEN 'UPDATE' THEN 'UPDATE' WHEN 'DELETE' THEN 'DELETE' ELSE 'SELECT' END AS privilege
                FROM texts t CROSS JOIN LATERAL regexp_matches(t.text,
                    '(INTO|UPDATE|DELETE|FROM|JOIN)\s+(?:FROM\s+)?(?:ONLY\s+)?carillon\.(\w+)(?![\w(])', 'gi') AS u(words)
                JOIN pg_class c ON c.relnamespace = 'carillon'::regnamespace AND c.relname = u.words[2]
                    AND c.relkind IN ('r', 'p', 'v')
            )
            SELECT DISTINCT u.role, u.name, u.privilege, u.relname FROM used u
            WHERE NOT (has_table_privilege(u.role, u.oid, u.privilege)
                OR u.privilege <> 'DELETE' AND has_any_column_privilege(u.role, u.oid, u.privilege))
            """#
        )
        #expect(missing == [])
    }
}
