-- The feedback pass in tables of apps: see watch_tokens.

-- A statement that deletes in a watched table, or counts there ('DELETE', 'SELECT'): $1 and $2 are the tokens that are gone,
-- and when. Tables of the app's own may write hex digits in either case. It runs under the owner's search_path.
CREATE FUNCTION carillon.watched_match(watched carillon.watched_tables, what text) RETURNS text
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

-- Asks a watched table with the rights of carillon_reaper, and says how many rows that concerned. Whatever the table's
-- triggers and policies leave behind in the session, also where they end in an error, is undone. Until that is known, even
-- their search_path may be in effect.
CREATE FUNCTION carillon.ask_watched(
    watched carillon.watched_tables, what text, gone text[], gone_at timestamptz[]
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    statement CONSTANT text := carillon.watched_match(watched, what);
    path CONSTANT text := carillon.path_of(watched.relation);
    before CONSTANT text[] := ARRAY(SELECT t.state FROM carillon.traces(current_setting('search_path')) t);
    statements CONSTANT jsonb := carillon.prepared();
    unsafe CONSTANT carillon.refusal := carillon.unsafe_reaper();
    left_behind text;
    rows bigint;
BEGIN
    IF unsafe.message IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format(
            'its triggers would run with more rights than they should, because %s. %s', unsafe.message, unsafe.hint);
    END IF;
    rows := carillon.as_reaper(statement, path, gone, gone_at);
    SELECT t.kind INTO left_behind
    FROM ROWS FROM (carillon.traces(pg_catalog.current_setting('search_path')), pg_catalog.unnest(before))
        AS t(kind, state, before)
    WHERE t.state OPERATOR(pg_catalog.<>) t.before OR (t.state IS NULL) OPERATOR(pg_catalog.<>) (t.before IS NULL) LIMIT 1;
    IF left_behind IS NOT NULL THEN
        RAISE EXCEPTION 'a trigger or policy of the table %', left_behind USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN rows;
EXCEPTION
    WHEN OTHERS OR query_canceled OR assert_failure THEN
        -- All else is rolled back.
        PERFORM carillon.prepare_again(statements);
        RAISE;
END
$$;

-- Deletes in a watched table what a batch of feedback says is gone. Where the table's own constraints or triggers keep a
-- row, that one stays, and the fault says why; everything else that keeps it from deleting is an error. It waits for nobody
-- for long: else the app's own transactions might be those that a deadlock ends.
CREATE FUNCTION carillon.reap_watched(
    watched carillon.watched_tables, gone text[], gone_at timestamptz[], OUT deleted bigint, OUT fault text
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(gone) / 2;
    one record;
    other record;
BEGIN
    deleted := carillon.ask_watched(watched, 'DELETE', gone, gone_at);
EXCEPTION
    WHEN integrity_constraint_violation OR plpgsql_error OR with_check_option_violation THEN
        -- One of them is to blame: halves are tried until it is alone.
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

-- Lets a watched table make up for a part of what it has missed. Returns the first row of feedback that it still misses:
-- null, if there is none; as before, if it cannot be reaped yet.
CREATE FUNCTION carillon.catch_up(
    watched carillon.watched_tables, most integer, OUT missed_from bigint, OUT deleted bigint, OUT fault text
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    gone text[];
    gone_at timestamptz[];
    last bigint;
    rows bigint;
BEGIN
    SELECT array_agg(f.token) FILTER (WHERE f.tells), array_agg(f.at) FILTER (WHERE f.tells), max(f.id), count(*)
    INTO gone, gone_at, last, rows
    FROM (
        SELECT f.id, f.token, least(f.unregistered_at, f.seen_at) AS at, f.seen_at <= clock_timestamp() AND (
                f.reason IS DISTINCT FROM 'BadDeviceToken' OR carillon.bad_token_tells(f.app_id, f.seen_at)) AS tells
        FROM carillon.feedback f WHERE f.app_id = watched.app_id AND f.id >= watched.missed_from
        ORDER BY f.id LIMIT most) f;
    missed_from := CASE WHEN rows = most THEN last + 1 END;
    deleted := 0;
    IF gone IS NOT NULL THEN
        SELECT r.deleted, r.fault INTO catch_up.deleted, catch_up.fault
        FROM carillon.reap_watched(watched, gone, gone_at) r;
    END IF;
EXCEPTION
    WHEN OTHERS THEN
        missed_from := watched.missed_from;
        deleted := 0;
        fault := SQLERRM;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    carillon.watched_match, carillon.ask_watched, carillon.reap_watched, carillon.catch_up
TO carillon_worker;

INSERT INTO carillon.schema_migrations (version, name) VALUES (24, 'watched');
