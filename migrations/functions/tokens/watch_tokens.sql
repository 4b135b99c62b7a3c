-- Watches the application's own tables, from which feedback passes also delete. The owner of the schema calls watch_tokens() and
-- unwatch_tokens(); reap_watched.sql deletes, and checks the table again each time. The names of types are compared unquoted.

CREATE OR REPLACE FUNCTION carillon.unfit_to_watch(
    relation regclass, token_column name, updated_column name, app_column name
) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp SET quote_all_identifiers = off AS $$
DECLARE
    kind "char";
    found_type text;
    target record;
BEGIN
    SELECT c.relkind INTO kind FROM pg_class c WHERE c.oid = unfit_to_watch.relation;
    IF kind IS NULL OR kind NOT IN ('r', 'p') THEN
        RETURN carillon.refusal('relation', 'a table',
            CASE WHEN kind IS NULL AND unfit_to_watch.relation IS NOT NULL THEN 'one that was dropped'
                ELSE unfit_to_watch.relation::text END, 'For a view, name the table that it selects from.');
    END IF;
    FOR target IN SELECT * FROM (VALUES
        ('token_column', unfit_to_watch.token_column, ARRAY['text', 'character varying'],
            'the name of a column of type text or varchar', 'Tokens are compared as hex digits.'),
        ('updated_column', unfit_to_watch.updated_column, ARRAY['timestamp with time zone'],
            'the name of a column of type timestamptz',
            'Without a time zone it cannot be compared with Apple''s clock: ALTER TABLE … ALTER COLUMN … '
                'TYPE timestamptz USING … AT TIME ZONE ''UTC'''),
        ('app_column', unfit_to_watch.app_column, ARRAY['text', 'character varying', 'smallint', 'integer', 'bigint'],
            'the name of a column with the app''s name or id', 'Leave it out if all rows belong to one app.')
    ) v (argument, name, types, takes, hint) LOOP
        CONTINUE WHEN target.argument = 'app_column' AND target.name IS NULL;
        SELECT format_type(a.atttypid, NULL) INTO found_type FROM pg_attribute a
        WHERE a.attrelid = unfit_to_watch.relation AND a.attname = target.name AND a.attnum > 0 AND NOT a.attisdropped;
        IF found_type IS NULL THEN
            RETURN carillon.refusal(target.argument, target.takes, coalesce(quote_literal(target.name)
                || ', which ' || unfit_to_watch.relation || ' does not have', 'null'), coalesce((
                    SELECT 'The columns are: ' || string_agg(a.attname, ', ' ORDER BY a.attnum) || '.' FROM pg_attribute a
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
COMMENT ON FUNCTION carillon.unfit_to_watch IS
    'Internal: returns why the feedback pass cannot delete from a table, as a refusal of an argument of watch_tokens; null if '
    'it can.';

-- check_watched() runs before each deletion, because tables change.
CREATE OR REPLACE FUNCTION carillon.check_watched(
    relation regclass, token_column name, updated_column name, app_column name
) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp SET quote_all_identifiers = off AS $$
BEGIN
    PERFORM carillon.refuse(carillon.unfit_to_watch(relation, token_column, updated_column, app_column));
    RETURN (SELECT format_type(a.atttypid, NULL) FROM pg_attribute a
        WHERE a.attrelid = relation AND a.attname = app_column AND a.attnum > 0 AND NOT a.attisdropped);
END
$$;
COMMENT ON FUNCTION carillon.check_watched IS
    'Internal: refuses a watched table from which the feedback pass cannot delete, and returns the type of app_column.';

CREATE OR REPLACE FUNCTION carillon.watch_tokens(
    app text, relation regclass, token_column name, updated_column name, app_column name DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watching_app CONSTANT integer := carillon.app_id(watch_tokens.app);
    others CONSTANT text[] := '{id,app_id,relation,created_at,last_error,missed_from}';
    before jsonb;
    after jsonb;
BEGIN
    PERFORM carillon.refuse(carillon.unfit_to_watch(
        watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column, watch_tokens.app_column));

    SELECT to_jsonb(w) - others INTO before FROM carillon.watched_tables w
    WHERE w.app_id = watching_app AND w.relation = watch_tokens.relation FOR UPDATE;
    -- Feedback that the table has missed is applied with the new columns.
    INSERT INTO carillon.watched_tables AS w (app_id, relation, token_column, updated_column, app_column)
    VALUES (watching_app, watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column, watch_tokens.app_column)
    ON CONFLICT ON CONSTRAINT watched_tables_once_an_app DO UPDATE SET token_column = excluded.token_column,
        updated_column = excluded.updated_column, app_column = excluded.app_column, last_error = NULL
    RETURNING to_jsonb(w) - others INTO after;
    IF before IS DISTINCT FROM after THEN
        PERFORM carillon.record_change('watch table', watch_tokens.app, CASE WHEN before IS NULL THEN after ELSE '{}' END
            || jsonb_build_object('table', watch_tokens.relation), carillon.changed_members(before, after));
    END IF;

    IF NOT has_table_privilege('carillon_reaper', watch_tokens.relation, 'SELECT')
        OR NOT has_table_privilege('carillon_reaper', watch_tokens.relation, 'DELETE')
        OR NOT (SELECT has_schema_privilege('carillon_reaper', c.relnamespace, 'USAGE')
            FROM pg_class c WHERE c.oid = watch_tokens.relation)
    THEN
        RAISE WARNING 'role carillon_reaper may not delete from % yet', watch_tokens.relation
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
COMMENT ON FUNCTION carillon.watch_tokens IS
    'Makes feedback passes delete dead tokens from one of your tables too, by the same rule as in tokens. The table''s owner '
    'must grant carillon_reaper SELECT and DELETE on the table, and USAGE on its schema.';

CREATE OR REPLACE FUNCTION carillon.unwatch_tokens(app text, relation regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watching_app CONSTANT integer := carillon.app_id(unwatch_tokens.app);
BEGIN
    DELETE FROM carillon.watched_tables w
    WHERE w.app_id = watching_app AND w.relation = unwatch_tokens.relation;
    IF FOUND THEN
        PERFORM carillon.record_change('unwatch table', unwatch_tokens.app, jsonb_build_object('table', unwatch_tokens.relation));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.unwatch_tokens IS 'Stops feedback passes from deleting from one of your tables.';
