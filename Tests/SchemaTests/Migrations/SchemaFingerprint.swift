import CarillonPostgres
import TestSupport

/// What the catalog says of the schema: columns, routines, indexes, constraints, triggers, policies, comments and rights, each as
/// a line. Partitions are left out, since they are made as time goes by, and how claims are stored, which depends on the server.
enum SchemaFingerprint {
    private static let lines = """
        WITH relation AS (
            SELECT c.* FROM pg_class c WHERE c.relnamespace = to_regnamespace('carillon') AND NOT c.relispartition
        )
        SELECT 'relation ' || c.relkind::text || ' ' || c.relname || ' ' || coalesce(c.reloptions::text, '') || c.relrowsecurity::text
            || (SELECT string_agg(e.x, ',' ORDER BY e.x) FROM pg_temp.rights(coalesce(c.relacl,
                acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) AS e(x))
        FROM relation c
        UNION ALL
        SELECT 'column ' || c.relname || ' ' || a.attnum || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
            || CASE WHEN c.relname || a.attname <> 'inflightjobs' THEN a.attstorage::text ELSE '' END
            || a.attnotnull::text || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
            || coalesce((SELECT string_agg(e.x, ',' ORDER BY e.x) FROM pg_temp.rights(a.attacl) AS e(x)), '')
        FROM relation c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        UNION ALL
        SELECT 'routine ' || pg_get_functiondef(p.oid) || pg_get_userbyid(p.proowner) || (
            SELECT string_agg(e.x, ',' ORDER BY e.x)
            FROM pg_temp.rights(coalesce(p.proacl, acldefault('f', p.proowner))) AS e(x))
        FROM pg_proc p WHERE p.pronamespace = to_regnamespace('carillon')
        UNION ALL
        SELECT 'index ' || pg_get_indexdef(i.indexrelid) || i.indisvalid::text FROM relation c JOIN pg_index i ON i.indexrelid = c.oid
        UNION ALL
        SELECT 'view ' || c.relname || pg_get_viewdef(c.oid) FROM relation c WHERE c.relkind = 'v'
        UNION ALL
        SELECT 'constraint ' || c.relname || ' ' || o.conname || ' ' || pg_get_constraintdef(o.oid) || o.convalidated::text
        FROM relation c JOIN pg_constraint o ON o.conrelid = c.oid
        UNION ALL
        SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM relation c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
        UNION ALL
        SELECT 'policy ' || p.tablename || ' ' || p.policyname || p.roles::text || coalesce(p.qual, '') FROM pg_policies p
        WHERE p.schemaname = 'carillon'
        UNION ALL
        SELECT 'comment on ' || o.type || ' ' || o.identity || ': ' || d.description
        FROM pg_description d, pg_identify_object(d.classoid, d.objoid, d.objsubid) o
        WHERE (o.schema = 'carillon' OR o.identity = 'carillon')
            AND d.classoid IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_namespace'::regclass)
        """

    static func read(_ connection: PostgresConnection) async throws -> [String] {
        // By name: a role that goes with the schema and comes again has another number.
        try await connection.script(
            """
            CREATE OR REPLACE FUNCTION pg_temp.rights(acl aclitem[]) RETURNS SETOF text LANGUAGE sql AS $$
                SELECT pg_get_userbyid(e.grantee) || ' ' || e.privilege_type || ' ' || e.is_grantable FROM aclexplode(acl) e
            $$
            """
        )
        return try await connection.values(of: Statement("fingerprint", "SELECT x FROM (\(lines)) l (x) ORDER BY x"))
    }
}
