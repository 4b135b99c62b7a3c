-- Registering tokens, and naming the tables of apps in which those are to be deleted that Apple says are gone.

-- A later registration always wins over feedback: its last_update is newer than what Apple saw.
CREATE FUNCTION carillon.register_token(app text, token text, owner text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    clean CONSTANT text := carillon.token(register_token.token);
    registering_app CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = register_token.app);
    refusal carillon.refusal;
BEGIN
    IF clean IS NULL OR registering_app IS NULL THEN
        refusal := CASE WHEN clean IS NULL THEN carillon.refusal('token',
                'a device token of 2 to 512 hex digits, an even number of them',
                carillon.strange_token(register_token.token),
                'Write the bytes that the device was given, two digits each, without blanks.')
            ELSE carillon.unknown_app(register_token.app) END;
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    INSERT INTO carillon.tokens AS t (app_id, token, owner)
    VALUES (registering_app, clean, register_token.owner)
    ON CONFLICT (app_id, token) DO UPDATE SET
        last_update = greatest(t.last_update, excluded.last_update), owner = coalesce(excluded.owner, t.owner);
END
$$;

-- Why nothing can be reaped in a table, by the argument of watch_tokens that it is about. Null: it can.
CREATE FUNCTION carillon.unfit_to_watch(
    relation regclass, token_column name, updated_column name, app_column name
) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    kind "char";
    found_type text;
    target record;
BEGIN
    SELECT c.relkind INTO kind FROM pg_class c WHERE c.oid = unfit_to_watch.relation;
    IF kind IS NULL OR kind NOT IN ('r', 'p') THEN
        RETURN carillon.refusal('relation', 'a table',
            CASE WHEN kind IS NULL AND unfit_to_watch.relation IS NOT NULL THEN 'one that was dropped'
                ELSE unfit_to_watch.relation::text END, 'Rows of a view, say, are deleted in the table behind it.');
    END IF;
    FOR target IN SELECT * FROM (VALUES
        ('token_column', unfit_to_watch.token_column, ARRAY['text', 'character varying'],
            'the name of a column of type text or varchar', 'Tokens are compared as hex digits.'),
        ('updated_column', unfit_to_watch.updated_column, ARRAY['timestamp with time zone'],
            'the name of a column of type timestamptz',
            'Without a time zone it cannot be compared with Apple''s clock: ALTER TABLE … ALTER COLUMN … '
                'TYPE timestamptz USING … AT TIME ZONE ''UTC'''),
        ('app_column', unfit_to_watch.app_column, ARRAY['text', 'character varying', 'smallint', 'integer', 'bigint'],
            'the name of a column that holds the app''s name or id', 'A table of one app needs none.')
    ) v (argument, name, types, takes, hint) LOOP
        CONTINUE WHEN target.argument = 'app_column' AND target.name IS NULL;
        SELECT format_type(a.atttypid, NULL) INTO found_type FROM pg_attribute a
        WHERE a.attrelid = unfit_to_watch.relation AND a.attname = target.name AND a.attnum > 0 AND NOT a.attisdropped;
        IF found_type IS NULL THEN
            RETURN carillon.refusal(target.argument, target.takes, coalesce(quote_literal(target.name)
                || ', which ' || unfit_to_watch.relation || ' does not have', 'null'), coalesce((
                    SELECT 'There are: ' || string_agg(a.attname, ', ' ORDER BY a.attnum) || '.' FROM pg_attribute a
                    WHERE a.attrelid = unfit_to_watch.relation AND a.attnum > 0 AND NOT a.attisdropped),
                    'It has no columns.'), '42703');
        ELSIF found_type <> ALL (target.types) THEN
            RETURN carillon.refusal(target.argument, target.takes,
                quote_literal(target.name) || ' of type ' || found_type, target.hint, '42804');
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- Asked again whenever something is to be deleted in a watched table: tables change. Returns the type of app_column.
CREATE FUNCTION carillon.check_watched(
    relation regclass, token_column name, updated_column name, app_column name
) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    refusal CONSTANT carillon.refusal := carillon.unfit_to_watch(relation, token_column, updated_column, app_column);
BEGIN
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    RETURN (SELECT format_type(a.atttypid, NULL) FROM pg_attribute a
        WHERE a.attrelid = relation AND a.attname = app_column AND a.attnum > 0 AND NOT a.attisdropped);
END
$$;

-- Names a table of the app's own, in which the feedback pass is to delete tokens too.
CREATE FUNCTION carillon.watch_tokens(
    app text, relation regclass, token_column name, updated_column name, app_column name DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    watching_app CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = watch_tokens.app);
    refusal CONSTANT carillon.refusal := CASE WHEN watching_app IS NULL THEN carillon.unknown_app(watch_tokens.app)
        ELSE carillon.unfit_to_watch(watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column,
            watch_tokens.app_column) END;
BEGIN
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;

    -- What it has missed so far is made up for by the new names.
    INSERT INTO carillon.watched_tables AS w (app_id, relation, token_column, updated_column, app_column)
    VALUES (watching_app, watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column,
        watch_tokens.app_column)
    ON CONFLICT ON CONSTRAINT watched_tables_once_an_app DO UPDATE SET token_column = excluded.token_column,
        updated_column = excluded.updated_column, app_column = excluded.app_column, last_error = NULL;

    IF NOT has_table_privilege('carillon_reaper', watch_tokens.relation, 'SELECT')
        OR NOT has_table_privilege('carillon_reaper', watch_tokens.relation, 'DELETE')
        OR NOT (SELECT has_schema_privilege('carillon_reaper', c.relnamespace, 'USAGE')
            FROM pg_class c WHERE c.oid = watch_tokens.relation)
    THEN
        RAISE WARNING 'role carillon_reaper may not delete in % yet', watch_tokens.relation
            USING HINT = (SELECT format('GRANT USAGE ON SCHEMA %s TO carillon_reaper; GRANT SELECT, DELETE ON %s TO '
                'carillon_reaper', c.relnamespace::regnamespace, watch_tokens.relation)
                FROM pg_class c WHERE c.oid = watch_tokens.relation);
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = watch_tokens.relation AND a.attname = watch_tokens.token_column AND i.indpred IS NULL)
    THEN
        RAISE WARNING 'no index of % begins with %: each batch of the feedback pass reads the whole table',
            watch_tokens.relation, quote_ident(watch_tokens.token_column)
            USING HINT = format('CREATE INDEX CONCURRENTLY ON %s (%I)', watch_tokens.relation, watch_tokens.token_column);
    END IF;
END
$$;

CREATE FUNCTION carillon.unwatch_tokens(app text, relation regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    watching_app CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = unwatch_tokens.app);
    refusal carillon.refusal;
BEGIN
    IF watching_app IS NULL THEN
        refusal := carillon.unknown_app(unwatch_tokens.app);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    DELETE FROM carillon.watched_tables w
    WHERE w.app_id = watching_app AND w.relation = unwatch_tokens.relation;
END
$$;

-- The search_path of whoever owns a table: its triggers were written for that. What is set for the role in this database
-- comes first, then what is set for the role, then for the database. The table's own schema is the last of it.
CREATE FUNCTION carillon.path_of(relation regclass) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT replace(coalesce((
            SELECT substr(v.setting, length('search_path=') + 1)
            FROM pg_db_role_setting s CROSS JOIN LATERAL unnest(s.setconfig) AS v(setting)
            WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
                AND s.setrole IN (0, c.relowner) AND v.setting LIKE 'search\_path=%'
            ORDER BY s.setrole = 0, s.setdatabase = 0 LIMIT 1
        ), '"$user", public'), '"$user"', quote_ident(pg_get_userbyid(c.relowner)))
        || ', ' || quote_ident(c.relnamespace::regnamespace::text)
    FROM pg_class c WHERE c.oid = path_of.relation
$$;

-- Runs a statement about a watched table as carillon_reaper, which has no right but those that the owners of such tables
-- have given it. Triggers, policies and rules that the table's owner made run with these rights, and under the owner's
-- search_path, so the statement names the schema of everything. SET ROLE is refused in here. Returns the statement's count.
-- A restore can give the function to somebody else, whose rights the triggers must not get.
CREATE FUNCTION carillon.as_reaper(statement text, path text, gone text[], gone_at timestamptz[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' SET enable_seqscan = off AS $$
DECLARE
    count bigint;
BEGIN
    IF current_user <> 'carillon_reaper' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('carillon.as_reaper would run with the rights of %I, not of carillon_reaper', current_user),
            HINT = 'SELECT hint FROM carillon.unsafe_reaper() tells what to run.';
    END IF;
    PERFORM set_config('search_path', path, true);
    EXECUTE statement INTO count USING gone, gone_at;
    RETURN count;
END
$$;

-- Only who may become a role may give it something.
DO $$
BEGIN
    ALTER FUNCTION carillon.as_reaper OWNER TO carillon_reaper;
EXCEPTION
    WHEN insufficient_privilege THEN
        BEGIN
            EXECUTE format('GRANT carillon_reaper TO %I', current_user);
            ALTER FUNCTION carillon.as_reaper OWNER TO carillon_reaper;
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE EXCEPTION '% may not give a function to role carillon_reaper', current_user
                    USING ERRCODE = 'insufficient_privilege',
                          HINT = format('Have a superuser run: GRANT carillon_reaper TO %I', current_user);
        END;
END
$$;
REVOKE CREATE ON SCHEMA carillon FROM carillon_reaper;

-- Why triggers of watched tables would run with more rights than they should, and what to do about it. Null: they do not.
-- With a right in the schema, carillon_reaper could change its own function above.
CREATE FUNCTION carillon.unsafe_reaper() RETURNS carillon.refusal
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT ROW(d.danger, 'Have a superuser run: ' || d.command, NULL, '55000')::carillon.refusal FROM (
        SELECT 1 AS place, format('carillon.as_reaper belongs to %s, not to carillon_reaper', p.proowner::regrole) AS danger,
            CASE WHEN to_regrole('carillon_reaper') IS NULL THEN 'CREATE ROLE carillon_reaper; ' ELSE '' END
                || 'GRANT CREATE ON SCHEMA carillon TO carillon_reaper; ALTER FUNCTION carillon.as_reaper OWNER TO '
                || 'carillon_reaper; REVOKE CREATE ON SCHEMA carillon FROM carillon_reaper' AS command
        FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper'
            AND p.proowner IS DISTINCT FROM to_regrole('carillon_reaper')
        UNION ALL
        SELECT 2, 'carillon.as_reaper is not SECURITY DEFINER', 'ALTER FUNCTION carillon.as_reaper SECURITY DEFINER'
        FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper' AND NOT p.prosecdef
        UNION ALL
        SELECT 3, 'carillon_reaper ' || a.has, 'ALTER ROLE carillon_reaper ' || a.command
        FROM pg_roles r CROSS JOIN LATERAL (VALUES (r.rolsuper, 'is a superuser', 'NOSUPERUSER'),
            (r.rolcreaterole, 'has CREATEROLE', 'NOCREATEROLE'), (r.rolbypassrls, 'has BYPASSRLS', 'NOBYPASSRLS')
        ) AS a(is_there, has, command)
        WHERE r.oid = to_regrole('carillon_reaper') AND a.is_there
        UNION ALL
        SELECT 4, g.who || ' has rights in the schema carillon', 'REVOKE ALL ON SCHEMA carillon FROM ' || g.who
        FROM (
            SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE 'carillon_reaper' END AS who
            FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a
            WHERE n.nspname = 'carillon' AND a.grantee IN (0, to_regrole('carillon_reaper'))
        ) g
        UNION ALL
        SELECT 5, format('carillon_reaper has the rights of %s', m.roleid::regrole),
            format('REVOKE %s FROM carillon_reaper', m.roleid::regrole)
        FROM pg_auth_members m WHERE m.member = to_regrole('carillon_reaper') AND EXISTS (
            SELECT FROM pg_roles r WHERE pg_has_role(m.roleid, r.oid, 'MEMBER') AND (r.rolname LIKE 'pg\_%'
                OR has_schema_privilege(r.oid, 'carillon', 'USAGE, CREATE')))
    ) d ORDER BY d.place LIMIT 1
$$;

-- The statements that are prepared in this session, and what it takes to prepare them again.
CREATE FUNCTION carillon.prepared() RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(p.name, jsonb_build_object('at', p.prepare_time, 'text', CASE WHEN p.from_sql
        THEN p.statement ELSE format('PREPARE %I%s AS %s', p.name,
            '(' || nullif(array_to_string(p.parameter_types, ','), '') || ')', p.statement) END)), '{}')
    FROM pg_prepared_statements p
$$;

-- What code of somebody else could leave behind in a session, to be run with the rights of the session's own user: by name,
-- what it would be and its present state. Deferred triggers and cursors WITH HOLD run at the commit; settings and prepared
-- statements change what runs later; and whoever is carillon_reaper could change the function above. Where the server counts
-- no rows, every deferrable trigger is one that may be waiting.
CREATE FUNCTION carillon.traces(path text) RETURNS TABLE (kind text, state text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    VALUES ('changed settings of the session: SET belongs to its function', traces.path || (
            SELECT md5(string_agg(s.name || '=' || s.setting, ',' ORDER BY s.name)) FROM pg_settings s
            WHERE s.name NOT LIKE '%.%' AND s.name <> 'search_path')),
        ('left a cursor open for after the transaction', (
            SELECT count(*) FROM pg_cursors c WHERE c.is_holdable)::text),
        ('changed prepared statements of the session', carillon.prepared()::text),
        ('changed the role carillon_reaper', (
            SELECT format('%s %s', p.ctid, p.xmin) FROM pg_proc p
            WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper')),
        ('would run at the commit, with the rights of the worker: it must not be DEFERRABLE', (
            SELECT sum(CASE WHEN current_setting('track_counts')::boolean
                THEN (t.tgtype & 4) * pg_stat_get_xact_tuples_inserted(t.tgrelid)
                    + (t.tgtype & 8) * pg_stat_get_xact_tuples_deleted(t.tgrelid)
                    + (t.tgtype & 16) * pg_stat_get_xact_tuples_updated(t.tgrelid)
                ELSE random() END) FROM pg_trigger t
            WHERE t.tgdeferrable AND (NOT t.tgisinternal OR t.tgfoid = 'unique_key_recheck'::regproc))::text)
$$;

-- Lets the session have the statements again that it had, and no other: no rollback does.
CREATE FUNCTION carillon.prepare_again(before jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT n.key FROM jsonb_each(carillon.prepared()) n WHERE n.value IS DISTINCT FROM before -> n.key LOOP
        EXECUTE format('DEALLOCATE %I', one.key);
    END LOOP;
    FOR one IN SELECT b.value ->> 'text' AS text FROM jsonb_each(before - ARRAY(
        SELECT n.key FROM jsonb_each(carillon.prepared()) n)) b
    LOOP
        EXECUTE one.text;
    END LOOP;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (10, 'feedback');
