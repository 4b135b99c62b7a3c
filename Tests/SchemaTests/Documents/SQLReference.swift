import TestSupport

/// The text of docs/sql.md, made from the catalog of a migrated database: what applications, dashboards and the owner of
/// the schema may call, read and write, with the comments of the migrations.
struct SQLReference {
    let database: TestDatabase

    func text() async throws -> String {
        let functions = try await sections(of: Self.functions)
        let relations = try await sections(of: Self.relations)
        return """
            # SQL: what an application may call, read and write

            This page lists every function, table, column and view that applications, dashboards and operators may use. `make docs`
            writes it from the comments in the migrations; in `psql`, `\\df+ carillon.enqueue`, `\\d+ carillon.results` and so on
            show the same. [enqueue.md](enqueue.md) explains how to enqueue, [messages.md](messages.md) what to do afterwards, and
            [rights.md](rights.md) the roles. Do not use what a comment calls internal: any version may change it.

            ## Index

            | group | names |
            |---|---|
            \(SQLGroup.all.map(\.indexRow).joined(separator: "\n"))

            \(SQLGroup.all.map { $0.text(with: $0.isOfFunctions ? functions : relations) }.joined(separator: "\n\n"))

            """
    }

    /// The names that no group has, and those that a group has in vain.
    func misplaced() async throws -> Set<String> {
        let functions = try await sections(of: Self.functions).keys
        let relations = try await sections(of: Self.relations).keys
        return Set(functions).union(relations).symmetricDifference(SQLGroup.all.flatMap(\.names))
    }

    /// The sections that a query yields, by the name in their heading.
    private func sections(of query: String) async throws -> [String: String] {
        let text = try await database.value(query) ?? ""
        let sections = text.split(separator: "### `").map { section in
            (String(section.prefix { $0 != "`" }), "### `" + section)
        }
        return Dictionary(sections) { first, _ in first }
    }

    /// What these roles may call, and what the owner is meant to call: that has a comment.
    static let callable = """
        SELECT p.*, obj_description(p.oid, 'pg_proc') AS comment,
            coalesce(nullif(concat_ws(' and ',
                CASE WHEN has_function_privilege('carillon_app', p.oid, 'EXECUTE') THEN '`carillon_app`' END,
                CASE WHEN has_function_privilege('carillon_reader', p.oid, 'EXECUTE') THEN '`carillon_reader`' END,
                CASE WHEN has_function_privilege('carillon_operator', p.oid, 'EXECUTE') THEN '`carillon_operator`' END), ''),
                CASE WHEN has_function_privilege('carillon_worker', p.oid, 'EXECUTE')
                    THEN '`carillon_worker` and the owner of the schema' ELSE 'the owner of the schema' END) AS roles
        FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace
            AND (has_function_privilege('carillon_app', p.oid, 'EXECUTE')
                OR has_function_privilege('carillon_reader', p.oid, 'EXECUTE')
                OR has_function_privilege('carillon_operator', p.oid, 'EXECUTE')
                OR obj_description(p.oid, 'pg_proc') NOT LIKE 'Internal: %')
        """

    /// The columns that either role may read or write, with what each may do, and all others that have a comment. What is
    /// internal is left out.
    static let columns = """
        SELECT c.oid, c.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod) AS type,
            obj_description(c.oid, 'pg_class') AS about, col_description(c.oid, a.attnum) AS comment,
            concat_ws(', ',
                CASE WHEN has_column_privilege('carillon_app', c.oid, a.attnum, 'SELECT') THEN 'read' END,
                CASE WHEN has_column_privilege('carillon_app', c.oid, a.attnum, 'INSERT') THEN 'insert' END,
                CASE WHEN has_column_privilege('carillon_app', c.oid, a.attnum, 'UPDATE') THEN 'update' END) AS app,
            CASE WHEN has_column_privilege('carillon_reader', c.oid, a.attnum, 'SELECT') THEN 'read' ELSE '' END AS reader
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
            AND a.attnum > 0 AND NOT a.attisdropped
            AND concat(obj_description(c.oid, 'pg_class')) NOT LIKE 'Internal: %'
            AND concat(col_description(c.oid, a.attnum)) NOT LIKE 'Internal: %' AND (
                has_column_privilege('carillon_app', c.oid, a.attnum, 'SELECT, INSERT, UPDATE')
                OR has_column_privilege('carillon_reader', c.oid, a.attnum, 'SELECT')
                OR col_description(c.oid, a.attnum) IS NOT NULL)
        """

    /// Functions of one name have one table: an argument may have another type, or stand elsewhere, in each of them. One that
    /// only some of them have can be left out, and comes last.
    private static let functions = """
        WITH callable AS (\(callable)), argument AS (
            SELECT f.proname, max(n.place) AS place, f.proargnames[n.place] AS name,
                count(*) < (SELECT count(*) FROM callable g WHERE g.proname = f.proname) AS is_optional,
                CASE WHEN bool_or(t.typname = 'anycompatiblearray') THEN 'text[], json[] or jsonb[]'
                    WHEN bool_or(t.typtype = 'p') THEN 'text, json or jsonb'
                    ELSE string_agg(DISTINCT format_type(t.oid, NULL), ' or ') END AS type,
                max(regexp_replace(pg_get_function_arg_default(f.oid, n.place), '::[a-z ]+$', '')) AS fallback
            FROM callable f CROSS JOIN LATERAL generate_series(1, f.pronargs) AS n(place)
            JOIN pg_type t ON t.oid = f.proargtypes[n.place - 1]
            GROUP BY f.proname, f.proargnames[n.place]
        ), answer AS (
            SELECT f.proname, n.place, f.proargnames[n.place] AS name,
                format_type(f.proallargtypes[n.place], NULL) AS type, NULL AS comment
            FROM callable f CROSS JOIN LATERAL generate_subscripts(f.proargmodes, 1) AS n(place)
            WHERE f.proargmodes[n.place] IN ('o', 't')
            UNION ALL
            SELECT f.proname, a.attnum, a.attname, format_type(a.atttypid, NULL), col_description(a.attrelid, a.attnum)
            FROM callable f JOIN pg_type t ON t.oid = f.prorettype JOIN pg_attribute a ON a.attrelid = t.typrelid
            WHERE a.attnum > 0
        )
        SELECT string_agg(concat_ws(E'\\n\\n', '### `' || f.proname || '`', f.comment, 'For ' || f.roles || '.'
                || CASE WHEN f.result IS NULL THEN ' A procedure: `CALL carillon.' || f.proname || '()`.'
                    WHEN f.result IN ('void', 'record') OR f.result LIKE '%(%' OR f.result LIKE 'SETOF%' THEN ''
                    ELSE ' Returns `' || f.result || '`.' END,
            (SELECT E'| argument | type | default |\\n|---|---|---|\\n' || string_agg(format('| `%s` | %s | %s |', a.name,
                    replace(a.type, 'timestamp with time zone', 'timestamptz'),
                    coalesce('`' || a.fallback || '`', CASE WHEN a.is_optional THEN '`NULL`' ELSE '' END)),
                    E'\\n' ORDER BY a.is_optional, a.place)
                FROM argument a WHERE a.proname = f.proname),
            (SELECT E'Returns:\\n\\n| column | type | description |\\n|---|---|---|\\n' || string_agg(format('| `%s` | %s | %s |',
                    a.name, replace(a.type, 'timestamp with time zone', 'timestamptz'),
                    coalesce(a.comment, d.comment, CASE a.name WHEN 'app' THEN 'the name of the app' END)),
                    E'\\n' ORDER BY a.place)
                FROM answer a LEFT JOIN (VALUES \(SQLResultColumns.values)) AS d(proname, name, comment)
                    ON d.proname = a.proname AND d.name = a.name
                WHERE a.proname = f.proname)), '')
        FROM (
            SELECT f.proname, min(f.comment) AS comment, min(f.roles) AS roles, min(pg_get_function_result(f.oid)) AS result
            FROM callable f WHERE f.comment NOT LIKE 'Internal: %' GROUP BY f.proname) f
        """

    private static let relations = """
        SELECT string_agg(concat_ws(E'\\n\\n', '### `' || r.relname || '`', r.about || CASE
                WHEN has_table_privilege('carillon_app', r.oid, 'DELETE') THEN ' `carillon_app` may delete rows.' ELSE '' END,
                CASE WHEN r.is_for_owner THEN E'For the owner of the schema.\\n\\n| column | type | description |\\n|---|---|---|\\n'
                ELSE E'| column | type | `carillon_app` | `carillon_reader` | description |\\n|---|---|---|---|---|\\n' END || r.rows),
            '')
        FROM (
            SELECT c.oid, c.relname, min(c.about) AS about, c.is_for_owner,
                string_agg(format(CASE WHEN c.is_for_owner THEN '| `%1$s` | %2$s | %5$s |' ELSE '| `%s` | %s | %s | %s | %s |' END,
                    c.attname, replace(c.type, 'timestamp with time zone', 'timestamptz'), c.app, c.reader, c.comment),
                    E'\\n' ORDER BY c.attnum) AS rows
            FROM (SELECT c.*, bool_and(c.app = '' AND c.reader = '') OVER (PARTITION BY c.oid) AS is_for_owner
                FROM (\(columns)) c) c
            GROUP BY c.oid, c.relname, c.is_for_owner) r
        """
}
