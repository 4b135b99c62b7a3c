import CarillonPostgres
import TestSupport
import Testing

/// Plants that are missing, or that nobody would use, prove nothing.
extension PlantedObjects {
    /// Of each kind, whether nearly all that PostgreSQL and we have is planted, and how many are of how many. A function or an
    /// operator counts with its types, unless one of them is any type: each such one has several plants.
    private static let counts = """
        SELECT k.kind, count(*) FILTER (WHERE k.is_planted) * 20 >= count(*) * 19,
            count(*) FILTER (WHERE k.is_planted), count(*)
        FROM (
            SELECT 'function' AS kind, EXISTS (SELECT FROM pg_proc q WHERE q.pronamespace = 'PLACE'::regnamespace
                AND q.prokind = 'f' AND q.proname = p.proname AND q.proargtypes = p.proargtypes) AS is_planted
            FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype
            WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND r.typtype <> 'p'
                AND NOT EXISTS (
                    SELECT FROM unnest(p.proargtypes) AS u(type) JOIN pg_type t ON t.oid = u.type WHERE t.typtype = 'p')
            UNION ALL
            SELECT 'operator', EXISTS (SELECT FROM pg_operator q WHERE q.oprnamespace = 'PLACE'::regnamespace
                AND q.oprname = o.oprname AND q.oprleft = o.oprleft AND q.oprright = o.oprright)
            FROM pg_operator o JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright
            WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND l.typtype <> 'p' AND r.typtype <> 'p'
            UNION ALL
            SELECT 'aggregate', EXISTS (SELECT FROM pg_proc q WHERE q.pronamespace = 'PLACE'::regnamespace
                AND q.prokind = 'a' AND q.proname = p.proname)
            FROM pg_proc p JOIN pg_aggregate g ON g.aggfnoid = p.oid
            WHERE p.pronamespace = 'pg_catalog'::regnamespace AND g.aggkind = 'n' AND p.pronargs > 0
            UNION ALL
            SELECT 'type', EXISTS (SELECT FROM pg_type q WHERE q.typnamespace = 'PLACE'::regnamespace
                AND q.typtype = 'd' AND q.typname = t.typname)
            FROM pg_type t WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b'
            UNION ALL
            SELECT 'view', EXISTS (SELECT FROM pg_class q WHERE q.relnamespace = 'PLACE'::regnamespace
                AND q.relkind = 'v' AND q.relname = c.relname)
            FROM pg_class c WHERE c.relkind IN ('r', 'v', 'p')
                AND c.relnamespace IN ('pg_catalog'::regnamespace, 'carillon'::regnamespace)
            UNION ALL
            SELECT 'trigger', EXISTS (SELECT FROM pg_trigger q JOIN pg_class v ON v.oid = q.tgrelid
                WHERE v.relnamespace = 'PLACE'::regnamespace AND q.tgname = 'spring' AND v.relname = c.relname)
            FROM pg_class c WHERE c.relkind IN ('r', 'v', 'p') AND c.relnamespace = 'carillon'::regnamespace
        ) AS k
        GROUP BY k.kind ORDER BY k.kind
        """

    /// - Parameter database: a session with the path `pg_catalog`.
    static func expectAll(in schema: String, _ database: TestDatabase) async throws {
        let counts = try await database.rows(counts.replacing("PLACE", with: schema))
        let kinds = counts.map { $0.split(separator: ",").prefix(2).joined(separator: " ") }
        #expect(
            kinds == ["(aggregate t", "(function t", "(operator t", "(trigger t", "(type t", "(view t"],
            "\(counts)"
        )
        let casts = "SELECT count(*) FROM pg_cast c WHERE c.casttarget = '\(schema).bait'::regtype"
        #expect(try await database.number(casts) == 11)
    }

    /// Statements of a session without the settings of the program's, and which plant each of them uses. The fourth one uses the
    /// cast: PostgreSQL itself has no such function of a text.
    private static let uses = [
        ("SELECT cardinality('{a}'::pg_catalog.text[])", "cardinality"),
        ("SELECT '{a}'::pg_catalog.text[] = '{a}'::pg_catalog.text[]", "array_eq"),
        ("SELECT array_agg('a'::pg_catalog.text)", "fold pg_catalog.text[]"),
        ("SELECT abs('1'::pg_catalog.text)", "as bait"),
        ("SELECT a.* FROM apps a", "apps"),
    ]

    /// - Parameter isFirst: Whether the path begins with the schema. Otherwise PostgreSQL's own types come first.
    static func expectUse(in schema: String, isFirst: Bool, _ database: TestDatabase) async throws {
        try await database.session { victim async throws in
            try await victim.run("SET search_path = \(isFirst ? "\(schema), pg_catalog" : schema), carillon")
            for (statement, name) in uses + (isFirst ? [("SELECT 'a'::text", "text")] : []) {
                let error = await victim.refusal(of: statement, "\(statement)")
                #expect(error?.message == "planted: \(name)", "\(statement)")
            }
        }
    }
}
