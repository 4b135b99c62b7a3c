-- The feedback pass in watched tables. reap_tables() and catch_up_next_table() call these functions for one table at a time. The
-- table's triggers run as carillon_reaper, never with the rights of the worker.

-- owner_search_path() returns the setting of the role in this database, or else of the role, or else of the database. The table's
-- schema comes last.
CREATE OR REPLACE FUNCTION carillon.owner_search_path(relation regclass) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT replace(coalesce((
            SELECT substr(v.setting, length('search_path=') + 1)
            FROM pg_db_role_setting s CROSS JOIN LATERAL unnest(s.setconfig) AS v(setting)
            WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
                AND s.setrole IN (0, c.relowner) AND v.setting LIKE E'search\\_path=%'
            ORDER BY s.setrole = 0, s.setdatabase = 0 LIMIT 1
        ), '"$user", public'), '"$user"', quote_ident(pg_get_userbyid(c.relowner)))
        || ', ' || c.relnamespace::regnamespace
    FROM pg_class c WHERE c.oid = owner_search_path.relation
$$;
COMMENT ON FUNCTION carillon.owner_search_path IS
    'Internal: returns the search_path of a table''s owner, for which its triggers were written.';

-- With rights in this schema, carillon_reaper could change its own function.
CREATE OR REPLACE FUNCTION carillon.unsafe_reaper() RETURNS carillon.refusal
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT ROW(d.danger, format('Have a superuser%s run: %s', ', or ' || d.who || ',', d.command), NULL, '55000')::carillon.refusal
    FROM (
        SELECT 1 AS place, format('carillon.as_reaper belongs to %s, not to carillon_reaper', p.proowner::regrole) AS danger,
            CASE WHEN to_regrole('carillon_reaper') IS NULL THEN 'CREATE ROLE carillon_reaper; ' ELSE '' END
                || 'GRANT CREATE ON SCHEMA carillon TO carillon_reaper; ALTER FUNCTION carillon.as_reaper OWNER TO '
                || 'carillon_reaper; REVOKE CREATE ON SCHEMA carillon FROM carillon_reaper' AS command,
            'the owner of the schema and of the function as a member of carillon_reaper' AS who
        FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper'
            AND p.proowner IS DISTINCT FROM to_regrole('carillon_reaper')
        UNION ALL
        SELECT 2, 'carillon.as_reaper is not SECURITY DEFINER', 'ALTER FUNCTION carillon.as_reaper SECURITY DEFINER',
            'a member of carillon_reaper'
        FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper' AND NOT p.prosecdef
        UNION ALL
        SELECT 3, 'carillon_reaper ' || a.has, 'ALTER ROLE carillon_reaper ' || a.command, NULL
        FROM pg_roles r CROSS JOIN LATERAL (VALUES (r.rolsuper, 'is a superuser', 'NOSUPERUSER'),
            (r.rolcreaterole, 'has CREATEROLE', 'NOCREATEROLE'), (r.rolbypassrls, 'has BYPASSRLS', 'NOBYPASSRLS')
        ) AS a(is_there, has, command)
        WHERE r.oid = to_regrole('carillon_reaper') AND a.is_there
        UNION ALL
        SELECT 4, g.who || ' has rights in the schema carillon', 'REVOKE ALL ON SCHEMA carillon FROM ' || g.who,
            'the owner of the schema'
        FROM (
            SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE 'carillon_reaper' END AS who
            FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a
            WHERE n.nspname = 'carillon' AND a.grantee IN (0, to_regrole('carillon_reaper'))
        ) g
        UNION ALL
        SELECT 5, format('carillon_reaper has the rights of %s', m.roleid::regrole),
            format('REVOKE %s FROM carillon_reaper', m.roleid::regrole),
            format('a role with ADMIN OPTION on %s (before PostgreSQL 16 with CREATEROLE)', m.roleid::regrole)
        FROM pg_auth_members m WHERE m.member = to_regrole('carillon_reaper') AND EXISTS (
            SELECT FROM pg_roles r WHERE pg_has_role(m.roleid, r.oid, 'MEMBER') AND (r.rolname LIKE E'pg\\_%'
                OR has_schema_privilege(r.oid, 'carillon', 'USAGE, CREATE')))
    ) d ORDER BY d.place LIMIT 1
$$;
COMMENT ON FUNCTION carillon.unsafe_reaper IS
    'Internal: returns why triggers of watched tables would run with too many rights, with a remedy; null if they would not.';

CREATE OR REPLACE FUNCTION carillon.prepared_statements() RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(p.name, jsonb_build_object('at', p.prepare_time, 'text', CASE WHEN p.from_sql
        THEN p.statement ELSE format('PREPARE %I%s AS %s', p.name,
            '(' || nullif(array_to_string(p.parameter_types, ','), '') || ')', p.statement) END)), '{}')
    FROM pg_prepared_statements p
$$;
COMMENT ON FUNCTION carillon.prepared_statements IS
    'Internal: returns the prepared statements of this session, with the text that prepares them again.';

-- Deferred triggers and cursors WITH HOLD run at commit; settings, prepared statements and temporary objects, such as a domain with
-- the name of a built-in type, affect later statements; and a member of carillon_reaper could change as_reaper(). If track_counts
-- is off, any deferrable trigger may be pending.
CREATE OR REPLACE FUNCTION carillon.session_state(path text) RETURNS TABLE (kind text, state text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    VALUES ('changed settings of the session: put SET in the definition of its function', session_state.path || (
            SELECT sha256(convert_to(string_agg(s.name || '=' || s.setting, ',' ORDER BY s.name), 'UTF8'))::text FROM pg_settings s
            WHERE s.name NOT LIKE '%.%' AND s.name <> 'search_path')),
        ('left a cursor open that outlives the transaction', (
            SELECT count(*) FROM pg_cursors c WHERE c.is_holdable)::text),
        ('changed prepared statements of the session', carillon.prepared_statements()::text),
        ('left objects in pg_temp: it must drop what it creates there', (
            SELECT string_agg(format('%s %s', d.classid, d.objid), ',' ORDER BY d.classid, d.objid) FROM pg_depend d
            WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = pg_my_temp_schema())),
        ('changed the role carillon_reaper', (
            SELECT format('%s %s', p.ctid, p.xmin) FROM pg_proc p
            WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper')),
        ('would run at commit, with the rights of the worker: it must not be DEFERRABLE', (
            SELECT sum(CASE WHEN current_setting('track_counts')::boolean
                THEN (t.tgtype & 4) * pg_stat_get_xact_tuples_inserted(t.tgrelid)
                    + (t.tgtype & 8) * pg_stat_get_xact_tuples_deleted(t.tgrelid)
                    + (t.tgtype & 16) * pg_stat_get_xact_tuples_updated(t.tgrelid)
                ELSE random() END) FROM pg_trigger t
            WHERE t.tgdeferrable AND (NOT t.tgisinternal OR t.tgfoid = 'unique_key_recheck'::regproc))::text)
$$;
COMMENT ON FUNCTION carillon.session_state IS
    'Internal: returns what a table''s code can leave in a session so that it later runs with the rights of the session''s '
    'user, by kind and present state.';

CREATE OR REPLACE FUNCTION carillon.restore_prepared_statements(before jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT n.key FROM jsonb_each(carillon.prepared_statements()) n WHERE n.value IS DISTINCT FROM before -> n.key LOOP
        EXECUTE format('DEALLOCATE %I', one.key);
    END LOOP;
    FOR one IN SELECT b.value ->> 'text' AS text FROM jsonb_each(before - ARRAY(
        SELECT n.key FROM jsonb_each(carillon.prepared_statements()) n)) b
    LOOP
        EXECUTE one.text;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.restore_prepared_statements IS
    'Internal: restores the prepared statements of the session, which a rollback does not.';

-- $1 and $2 are the dead tokens and their times. Watched tables may have hex digits in either case. Runs with the owner's
-- search_path.
CREATE OR REPLACE FUNCTION carillon.watched_statement(watched carillon.watched_tables, what text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    app_type CONSTANT text := carillon.check_watched(
        watched.relation, watched.token_column, watched.updated_column, watched.app_column);
    app_name CONSTANT text := (SELECT a.name FROM carillon.apps a WHERE a.id = watched.app_id);
BEGIN
    RETURN format(CASE what
            WHEN 'DELETE' THEN 'WITH dead AS (DELETE FROM %s w USING %s RETURNING 1) SELECT pg_catalog.count(*) FROM dead'
            ELSE 'SELECT pg_catalog.count(*) FROM %s w, %s' END,
        (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = watched.relation),
        format('(SELECT v.token, pg_catalog.max(v.at) AS at FROM (SELECT pg_catalog.unnest(ARRAY['
            || 'o.token, pg_catalog.lower(o.token), pg_catalog.upper(o.token)]) AS token, o.at '
            || 'FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS o (token, at)) v GROUP BY v.token) g '
            || 'WHERE w.%I OPERATOR(pg_catalog.=) g.token AND w.%I OPERATOR(pg_catalog.<) g.at%s',
            watched.token_column, watched.updated_column,
            CASE WHEN app_type IS NULL THEN ''
                WHEN app_type IN ('text', 'character varying') THEN format(
                    ' AND w.%I OPERATOR(pg_catalog.=) ANY (ARRAY[%L, %L])', watched.app_column, app_name, watched.app_id)
                ELSE format(' AND w.%I OPERATOR(pg_catalog.=) %s', watched.app_column, watched.app_id) END));
END
$$;
COMMENT ON FUNCTION carillon.watched_statement IS
    'Internal: builds the statement that deletes from a watched table (DELETE) or counts its dead tokens (SELECT).';

-- run_watched_statement() undoes whatever the table's triggers and policies leave in the session, even after an error. Until then,
-- even their search_path may be in effect.
CREATE OR REPLACE FUNCTION carillon.run_watched_statement(
    watched carillon.watched_tables, what text, gone text[], gone_at timestamptz[]
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    statement CONSTANT text := carillon.watched_statement(watched, what);
    path CONSTANT text := carillon.owner_search_path(watched.relation);
    before CONSTANT text[] := ARRAY(SELECT t.state FROM carillon.session_state(current_setting('search_path')) t);
    statements CONSTANT jsonb := carillon.prepared_statements();
    unsafe CONSTANT carillon.refusal := carillon.unsafe_reaper();
    left_behind text;
    rows bigint;
BEGIN
    IF unsafe.message IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format(
            'its triggers would run with too many rights, because %s. %s', unsafe.message, unsafe.hint);
    END IF;
    rows := carillon.as_reaper(statement, path, gone, gone_at);
    SELECT t.kind INTO left_behind
    FROM ROWS FROM (carillon.session_state(pg_catalog.current_setting('search_path')), pg_catalog.unnest(before))
        AS t(kind, state, before)
    WHERE t.state OPERATOR(pg_catalog.<>) t.before OR (t.state IS NULL) OPERATOR(pg_catalog.<>) (t.before IS NULL) LIMIT 1;
    IF left_behind IS NOT NULL THEN
        RAISE EXCEPTION 'a trigger or policy of the table %', left_behind USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN rows;
EXCEPTION
    WHEN OTHERS OR query_canceled OR assert_failure THEN
        -- Everything else is rolled back.
        PERFORM carillon.restore_prepared_statements(statements);
        RAISE;
END
$$;
COMMENT ON FUNCTION carillon.run_watched_statement IS
    'Internal: runs the statement of watched_statement() as carillon_reaper and returns its count.';

-- If the table's own constraints or triggers refuse to delete a row, the row stays and `fault` says why; any other problem raises
-- an error. reap_watched() never waits long for a lock, because a deadlock could abort a transaction of the application.
CREATE OR REPLACE FUNCTION carillon.reap_watched(
    watched carillon.watched_tables, gone text[], gone_at timestamptz[], OUT deleted bigint, OUT fault text
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(gone) / 2;
    one record;
    other record;
BEGIN
    deleted := carillon.run_watched_statement(watched, 'DELETE', gone, gone_at);
EXCEPTION
    WHEN integrity_constraint_violation OR plpgsql_error OR with_check_option_violation THEN
        -- One of the rows is at fault; halving the list finds it.
        IF half = 0 THEN
            deleted := 0;
            fault := SQLERRM;
            RETURN;
        END IF;
        SELECT r.* INTO one FROM carillon.reap_watched(watched, gone[:half], gone_at[:half]) r;
        SELECT r.* INTO other FROM carillon.reap_watched(watched, gone[half + 1:], gone_at[half + 1:]) r;
        deleted := one.deleted + other.deleted;
        fault := coalesce(one.fault, other.fault);
END
$$;
COMMENT ON FUNCTION carillon.reap_watched IS 'Internal: deletes the tokens of a batch of feedback from a watched table.';

-- catch_up_table() returns the first row of feedback still missed, or null if there is none. If it is the same as before, the row
-- cannot be applied yet. Feedback that awaits counts is still missed.
CREATE OR REPLACE FUNCTION carillon.catch_up_table(
    watched carillon.watched_tables, max_rows integer, OUT missed_from bigint, OUT deleted bigint, OUT fault text
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    gone text[];
    gone_at timestamptz[];
    waiting bigint;
    last bigint;
    rows bigint;
BEGIN
    SELECT array_agg(report.token) FILTER (WHERE report.died_at IS NOT NULL),
        array_agg(report.died_at) FILTER (WHERE report.died_at IS NOT NULL),
        min(report.id) FILTER (WHERE report.awaits_counts), max(report.id), count(*)
    INTO gone, gone_at, waiting, last, rows
    FROM (
        SELECT f.id, f.token, carillon.died_at(f), carillon.awaits_counts(f) FROM carillon.feedback f
        WHERE f.app_id = watched.app_id AND f.id >= watched.missed_from ORDER BY f.id LIMIT max_rows) report;
    missed_from := coalesce(waiting, CASE WHEN rows = max_rows THEN last + 1 END);
    deleted := 0;
    IF gone IS NOT NULL THEN
        SELECT r.deleted, r.fault INTO catch_up_table.deleted, catch_up_table.fault
        FROM carillon.reap_watched(watched, gone, gone_at) r;
    END IF;
EXCEPTION
    WHEN OTHERS THEN
        missed_from := watched.missed_from;
        deleted := 0;
        fault := SQLERRM;
END
$$;
COMMENT ON FUNCTION carillon.catch_up_table IS 'Internal: applies some of the feedback that a watched table has missed.';
