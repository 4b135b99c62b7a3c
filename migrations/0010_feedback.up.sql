-- Registering tokens, and naming the tables of apps in which those are to be deleted that Apple says are gone.

-- A later registration always wins over feedback: its last_update is newer than what Apple saw.
CREATE FUNCTION carillon.register_token(app text, token text, owner text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    clean CONSTANT text := carillon.token(register_token.token);
BEGIN
    IF clean IS NULL THEN
        PERFORM carillon.refuse('token', 'a device token of 2 to 512 hex digits, an even number of them',
            quote_nullable(register_token.token));
    END IF;
    INSERT INTO carillon.tokens AS t (app_id, token, owner)
    VALUES (carillon.app_id(register_token.app), clean, register_token.owner)
    ON CONFLICT (app_id, token) DO UPDATE SET
        last_update = greatest(t.last_update, excluded.last_update), owner = coalesce(excluded.owner, t.owner);
END
$$;

-- Refuses what cannot be reaped, and names the argument of watch_tokens that it is about. Asked when a table is named,
-- and again whenever something is to be deleted there: tables change. Returns the type of app_column.
CREATE FUNCTION carillon.check_watched(
    relation regclass, token_column name, updated_column name, app_column name
) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    kind "char";
    found_type text;
    target record;
BEGIN
    SELECT c.relkind INTO kind FROM pg_class c WHERE c.oid = check_watched.relation;
    IF kind IS NULL OR kind NOT IN ('r', 'p') THEN
        PERFORM carillon.refuse('relation', 'a table',
            CASE WHEN kind IS NULL AND check_watched.relation IS NOT NULL THEN 'one that was dropped'
                ELSE check_watched.relation::text END);
    END IF;
    FOR target IN SELECT * FROM (VALUES
        ('token_column', check_watched.token_column, ARRAY['text', 'character varying'],
            'the name of a column of type text or varchar', NULL),
        ('updated_column', check_watched.updated_column, ARRAY['timestamp with time zone'],
            'the name of a column of type timestamptz',
            'Without a time zone it cannot be compared with Apple''s clock: ALTER TABLE … ALTER COLUMN … '
                'TYPE timestamptz USING … AT TIME ZONE ''UTC'''),
        ('app_column', check_watched.app_column, ARRAY['text', 'character varying', 'smallint', 'integer', 'bigint'],
            'the name of a column that holds the app''s name or id', NULL)
    ) v (argument, name, types, takes, hint) LOOP
        CONTINUE WHEN target.argument = 'app_column' AND target.name IS NULL;
        SELECT format_type(a.atttypid, NULL) INTO found_type FROM pg_attribute a
        WHERE a.attrelid = check_watched.relation AND a.attname = target.name AND a.attnum > 0 AND NOT a.attisdropped;
        IF found_type IS NULL THEN
            PERFORM carillon.refuse(target.argument, target.takes, coalesce(quote_literal(target.name)
                || ', which ' || check_watched.relation || ' does not have', 'null'), NULL, 'undefined_column');
        ELSIF found_type <> ALL (target.types) THEN
            PERFORM carillon.refuse(target.argument, target.takes,
                quote_literal(target.name) || ' of type ' || found_type, target.hint, 'datatype_mismatch');
        END IF;
    END LOOP;
    RETURN CASE WHEN check_watched.app_column IS NOT NULL THEN found_type END;
END
$$;

-- Names a table of the app's own, in which the feedback pass is to delete tokens too.
CREATE FUNCTION carillon.watch_tokens(
    app text, relation regclass, token_column name, updated_column name, app_column name DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    watching_app CONSTANT integer := carillon.app_id(watch_tokens.app);
BEGIN
    PERFORM carillon.check_watched(watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column,
        watch_tokens.app_column);

    -- What it has missed so far is made up for by the new names.
    INSERT INTO carillon.watched_tables AS w (app_id, relation, token_column, updated_column, app_column)
    VALUES (watching_app, watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column,
        watch_tokens.app_column)
    ON CONFLICT ON CONSTRAINT watched_tables_once_an_app DO UPDATE SET token_column = excluded.token_column,
        updated_column = excluded.updated_column, app_column = excluded.app_column, last_error = NULL;

    IF NOT has_table_privilege('carillon_worker', watch_tokens.relation, 'SELECT')
        OR NOT has_table_privilege('carillon_worker', watch_tokens.relation, 'DELETE')
    THEN
        RAISE WARNING 'role carillon_worker may not delete in % yet', watch_tokens.relation
            USING HINT = format('GRANT SELECT, DELETE ON %s TO carillon_worker', watch_tokens.relation);
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
BEGIN
    DELETE FROM carillon.watched_tables w
    WHERE w.app_id = carillon.app_id(unwatch_tokens.app) AND w.relation = unwatch_tokens.relation;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (10, 'feedback');
