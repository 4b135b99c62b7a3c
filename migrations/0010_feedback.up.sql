-- Registering tokens, and deleting those that Apple says are gone.

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

-- Names a table of the app's own, in which the feedback pass is to delete tokens too.
CREATE FUNCTION carillon.watch_tokens(
    app text, relation regclass, token_column name, updated_column name, app_column name DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    watching_app CONSTANT integer := carillon.app_id(watch_tokens.app);
    kind "char";
    found_type text;
    target record;
BEGIN
    SELECT c.relkind INTO kind FROM pg_class c WHERE c.oid = watch_tokens.relation;
    IF kind IS NULL OR kind NOT IN ('r', 'p') THEN
        PERFORM carillon.refuse('relation', 'a table', watch_tokens.relation::text);
    END IF;
    FOR target IN SELECT * FROM (VALUES
        ('token_column', watch_tokens.token_column, ARRAY['text', 'character varying'],
            'the name of a column of type text or varchar', NULL),
        ('updated_column', watch_tokens.updated_column, ARRAY['timestamp with time zone'],
            'the name of a column of type timestamptz',
            'Without a time zone it cannot be compared with Apple''s clock: ALTER TABLE … ALTER COLUMN … '
                'TYPE timestamptz USING … AT TIME ZONE ''UTC'''),
        ('app_column', watch_tokens.app_column, ARRAY['text', 'character varying', 'smallint', 'integer', 'bigint'],
            'the name of a column that holds the app''s name or id', NULL)
    ) v (argument, name, types, takes, hint) LOOP
        CONTINUE WHEN target.argument = 'app_column' AND target.name IS NULL;
        SELECT format_type(a.atttypid, NULL) INTO found_type FROM pg_attribute a
        WHERE a.attrelid = watch_tokens.relation AND a.attname = target.name AND a.attnum > 0 AND NOT a.attisdropped;
        IF found_type IS NULL THEN
            PERFORM carillon.refuse(target.argument, target.takes, coalesce(quote_literal(target.name)
                || ', which ' || watch_tokens.relation || ' does not have', 'null'), NULL, 'undefined_column');
        ELSIF found_type <> ALL (target.types) THEN
            PERFORM carillon.refuse(target.argument, target.takes,
                quote_literal(target.name) || ' of type ' || found_type, target.hint, 'datatype_mismatch');
        END IF;
    END LOOP;

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
END
$$;

CREATE FUNCTION carillon.unwatch_tokens(app text, relation regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    DELETE FROM carillon.watched_tables w
    WHERE w.app_id = carillon.app_id(unwatch_tokens.app) AND w.relation = unwatch_tokens.relation;
END
$$;

-- Deletes in a watched table what a batch of feedback says is gone. Runs with the rights of who runs the pass.
CREATE FUNCTION carillon.reap_watched(watched carillon.watched_tables, app text, gone text[], gone_at timestamptz[])
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    deleted bigint;
BEGIN
    -- The app's own tables may write hex digits in either case.
    EXECUTE format('DELETE FROM %s w USING ('
        || 'SELECT DISTINCT unnest(ARRAY[g.token, lower(g.token), upper(g.token)]) AS token, g.at '
        || 'FROM unnest($1, $2) g (token, at)) g WHERE w.%I = g.token AND w.%I < g.at%s',
        watched.relation, watched.token_column, watched.updated_column,
        CASE WHEN watched.app_column IS NULL THEN ''
             ELSE format(' AND w.%I::text IN ($3, $4)', watched.app_column) END)
    USING gone, gone_at, app, watched.app_id::text;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

-- One feedback pass: deletes each token that was not registered again since Apple saw it gone. Returns how many.
CREATE FUNCTION carillon.reap(app text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    batch CONSTANT integer := 10000;
    only_app CONSTANT integer := CASE WHEN reap.app IS NOT NULL THEN carillon.app_id(reap.app) END;
    target record;
    watched carillon.watched_tables;
    ids bigint[];
    gone text[];
    gone_at timestamptz[];
    last bigint;
    deleted bigint;
    total bigint := 0;
    whole boolean;
    app_name text;
BEGIN
    -- One pass at a time: a second one waits, and then finds little to do.
    PERFORM pg_advisory_xact_lock(hashtextextended('carillon.reap', 0));
    FOR target IN
        SELECT DISTINCT f.app_id AS id FROM carillon.feedback f
        WHERE f.handled_at IS NULL AND (only_app IS NULL OR f.app_id = only_app) ORDER BY 1
    LOOP
        last := 0;
        SELECT a.name INTO app_name FROM carillon.apps a WHERE a.id = target.id;
        LOOP
            -- A time in the future is nobody's: no token is gone later than we heard of it.
            SELECT array_agg(f.id), array_agg(f.token), array_agg(least(f.unregistered_at, f.seen_at)), max(f.id)
            INTO ids, gone, gone_at, last
            FROM (SELECT * FROM carillon.feedback f WHERE f.app_id = target.id AND f.handled_at IS NULL AND f.id > last
                  ORDER BY f.id LIMIT batch) f;
            EXIT WHEN ids IS NULL;

            WITH dead AS (
                SELECT t.token FROM carillon.tokens t
                JOIN (SELECT lower(u.token) AS token, max(u.at) AS at FROM unnest(gone, gone_at) u (token, at)
                      GROUP BY 1) g
                  ON t.app_id = target.id AND t.token = g.token AND t.last_update < g.at
                ORDER BY t.token FOR UPDATE OF t
            )
            DELETE FROM carillon.tokens t USING dead WHERE t.app_id = target.id AND t.token = dead.token;
            GET DIAGNOSTICS deleted = ROW_COUNT;
            total := total + deleted;

            -- A table that cannot be reaped says so, and harms no other; its feedback is kept for the next pass.
            whole := true;
            FOR watched IN SELECT w.* FROM carillon.watched_tables w WHERE w.app_id = target.id ORDER BY w.id LOOP
                BEGIN
                    total := total + carillon.reap_watched(watched, app_name, gone, gone_at);
                    UPDATE carillon.watched_tables w SET last_error = NULL
                    WHERE w.id = watched.id AND w.last_error IS NOT NULL;
                EXCEPTION WHEN OTHERS THEN
                    whole := false;
                    UPDATE carillon.watched_tables w SET last_error = SQLERRM WHERE w.id = watched.id;
                END;
            END LOOP;
            IF whole THEN
                UPDATE carillon.feedback f SET handled_at = now() WHERE f.id = ANY (ids);
            END IF;
        END LOOP;
    END LOOP;
    RETURN total;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (10, 'feedback');
