-- carillon.broadcast, and how far it has come.

-- To every token registered for the app, in the bulk lane unless told otherwise. Two functions, for the same reasons as
-- with enqueue.
CREATE FUNCTION carillon.broadcast(
    app text, alert text DEFAULT NULL, badge bigint DEFAULT NULL, sound text DEFAULT NULL,
    content_available boolean DEFAULT NULL, mutable_content boolean DEFAULT NULL, category text DEFAULT NULL,
    thread_id text DEFAULT NULL, extra jsonb DEFAULT NULL, payload anycompatible DEFAULT NULL,
    push_type text DEFAULT NULL, priority bigint DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    collapse_id text DEFAULT NULL, topic text DEFAULT NULL, run_at timestamptz DEFAULT NULL, lane bigint DEFAULT NULL,
    reference text DEFAULT NULL, dedupe_key text DEFAULT NULL, dedupe_for interval DEFAULT NULL,
    on_unknown text DEFAULT 'retry', title text DEFAULT NULL, subtitle text DEFAULT NULL, body text DEFAULT NULL,
    strict boolean DEFAULT false, on_duplicate text DEFAULT 'null'
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit(ROW(app, NULL, alert, NULL, badge, sound, content_available,
        mutable_content, category, thread_id, extra, payload::pg_catalog.text, pg_catalog.pg_typeof(payload), push_type,
        priority, expires_at, collapse_id, topic, run_at, lane, reference, dedupe_key, dedupe_for, on_unknown, title,
        subtitle, body, strict, on_duplicate)::carillon.message_arguments, true)
$$;

CREATE FUNCTION carillon.broadcast(
    app text, alert anyelement, badge bigint DEFAULT NULL, sound text DEFAULT NULL,
    content_available boolean DEFAULT NULL, mutable_content boolean DEFAULT NULL, category text DEFAULT NULL,
    thread_id text DEFAULT NULL, extra jsonb DEFAULT NULL, payload anycompatible DEFAULT NULL,
    push_type text DEFAULT NULL, priority bigint DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    collapse_id text DEFAULT NULL, topic text DEFAULT NULL, run_at timestamptz DEFAULT NULL, lane bigint DEFAULT NULL,
    reference text DEFAULT NULL, dedupe_key text DEFAULT NULL, dedupe_for interval DEFAULT NULL,
    on_unknown text DEFAULT 'retry', title text DEFAULT NULL, subtitle text DEFAULT NULL, body text DEFAULT NULL,
    strict boolean DEFAULT false, on_duplicate text DEFAULT 'null'
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit(ROW(app, NULL, NULL, pg_catalog.to_jsonb(alert), badge, sound, content_available,
        mutable_content, category, thread_id, extra, payload::pg_catalog.text, pg_catalog.pg_typeof(payload), push_type,
        priority, expires_at, collapse_id, topic, run_at, lane, reference, dedupe_key, dedupe_for, on_unknown, title,
        subtitle, body, strict, on_duplicate)::carillon.message_arguments, true)
$$;

-- The lanes that hold rows, by jumping along the primary key from one to the next.
CREATE FUNCTION carillon.filled_lanes(of_app integer DEFAULT NULL) RETURNS TABLE (app_id integer, lane smallint)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE filled AS (
        (SELECT m.app_id, m.lane FROM carillon.messages m
        WHERE m.app_id >= coalesce(of_app, -2147483648) ORDER BY m.app_id, m.lane LIMIT 1)
        UNION ALL
        SELECT next.app_id, next.lane FROM filled CROSS JOIN LATERAL (
            SELECT m.app_id, m.lane FROM carillon.messages m WHERE (m.app_id, m.lane) > (filled.app_id, filled.lane)
            ORDER BY m.app_id, m.lane LIMIT 1) next
        WHERE filled.app_id = of_app OR of_app IS NULL)
    SELECT f.app_id, f.lane FROM filled f WHERE f.app_id = of_app OR of_app IS NULL
$$;

-- The apps of which something waits for its time, or for the rest of it, likewise.
CREATE FUNCTION carillon.waiting_apps() RETURNS TABLE (app_id integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE later AS (
        (SELECT s.app_id FROM carillon.scheduled s ORDER BY s.app_id LIMIT 1)
        UNION ALL
        SELECT next.app_id FROM later CROSS JOIN LATERAL (
            SELECT s.app_id FROM carillon.scheduled s WHERE s.app_id > later.app_id ORDER BY s.app_id LIMIT 1) next
    ), begun AS (
        (SELECT u.app_id FROM carillon.unfinished u ORDER BY u.app_id LIMIT 1)
        UNION ALL
        SELECT next.app_id FROM begun CROSS JOIN LATERAL (
            SELECT u.app_id FROM carillon.unfinished u WHERE u.app_id > begun.app_id ORDER BY u.app_id LIMIT 1) next
    )
    SELECT l.app_id FROM later l UNION SELECT b.app_id FROM begun b
$$;

-- What an argument named app leaves to choose from: the app of that name, if there is one, or all that the caller may use.
-- Null: every app.
CREATE FUNCTION carillon.chosen_apps(app text) RETURNS integer[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN app IS NULL THEN o.mine ELSE ARRAY(
        SELECT a.id FROM carillon.apps a WHERE a.name = app AND (o.mine IS NULL OR a.id = ANY (o.mine))) END
    FROM carillon.apps_of_caller() AS o(mine)
$$;

-- A job by its id alone, wherever it waits or flies.
CREATE FUNCTION carillon.find_job(id bigint) RETURNS TABLE (
    app_id integer, lane smallint, token_count integer, broadcast_id bigint, created_at timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT m.app_id, m.lane, cardinality(m.tokens), m.broadcast_id, m.created_at
    FROM carillon.filled_lanes() l CROSS JOIN LATERAL (
        SELECT * FROM carillon.messages m WHERE m.app_id = l.app_id AND m.lane = l.lane AND m.id = find_job.id) m
    UNION ALL
    SELECT s.app_id, s.lane, cardinality(s.tokens), s.broadcast_id, s.created_at
    FROM carillon.waiting_apps() w, carillon.scheduled s WHERE s.app_id = w.app_id AND s.id = find_job.id
    UNION ALL
    SELECT i.app_id, j.lane, cardinality(j.tokens), j.broadcast_id, j.created_at
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j WHERE j.id = find_job.id
$$;

-- The messages that ids belong to, each with its app: a job, one that is tried again or a part has that of its message. Of a
-- message that was cut, each with what it is a part of. Without settings of its own, so that it becomes part of the query
-- that asks, which knows how many ids there are.
CREATE FUNCTION carillon.messages_of(ids bigint[])
RETURNS TABLE (app_id integer, message_id bigint, broadcast_id bigint)
LANGUAGE sql STABLE AS $$
    SELECT m.app_id, coalesce(m.origin, m.id), m.broadcast_id FROM carillon.filled_lanes() l, carillon.messages m
    WHERE m.app_id = l.app_id AND m.lane = l.lane
        AND m.id = ANY (ids)
    UNION ALL
    SELECT s.app_id, coalesce(s.origin, s.id), s.broadcast_id FROM carillon.waiting_apps() w, carillon.scheduled s
    WHERE s.app_id = w.app_id AND s.id = ANY (ids)
    UNION ALL
    SELECT i.app_id, coalesce(j.origin, j.id), j.broadcast_id
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
    WHERE j.id = ANY (ids) OR j.origin = ANY (ids)
    UNION ALL
    SELECT u.app_id, u.message_id, u.broadcast_id FROM carillon.waiting_apps() w, carillon.unfinished u
    WHERE u.app_id = w.app_id AND u.message_id = ANY (ids)
    UNION ALL
    SELECT b.app_id, b.id, b.id FROM carillon.broadcasts b WHERE b.id = ANY (ids)
    UNION ALL
    SELECT r.app_id, r.message_id, r.broadcast_id FROM carillon.results r
    WHERE r.message_id = ANY (ids)
    UNION ALL
    SELECT f.app_id, f.message_id, f.broadcast_id FROM carillon.failures f
    WHERE f.broadcast_id IS NOT NULL AND f.message_id = ANY (ids)
$$;

-- How far a broadcast, or any message, has come. Once its results are dropped by retention it is unknown. Where several apps
-- have messages of one id, the app is to be named.
CREATE FUNCTION carillon.broadcast_progress(
    id bigint, app text DEFAULT NULL,
    OUT app_id integer, OUT tokens bigint, OUT sent bigint, OUT failed bigint, OUT expired bigint, OUT cancelled bigint,
    OUT remaining bigint, OUT finished boolean, OUT created_at timestamptz, OUT finished_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    refusal carillon.refusal;
    chosen CONSTANT integer[] := carillon.chosen_apps(broadcast_progress.app);
    apps integer[];
BEGIN
    SELECT array_agg(DISTINCT a.app_id) INTO apps FROM (
        SELECT b.app_id FROM carillon.broadcasts b WHERE b.id = broadcast_progress.id
        UNION ALL
        SELECT r.app_id FROM carillon.results r WHERE r.message_id = broadcast_progress.id
        UNION ALL
        SELECT u.app_id FROM carillon.waiting_apps() w, carillon.unfinished u
        WHERE u.app_id = w.app_id AND u.message_id = broadcast_progress.id
    ) a WHERE chosen IS NULL OR a.app_id = ANY (chosen);
    IF apps IS NULL THEN
        SELECT array_agg(DISTINCT j.app_id) INTO apps FROM carillon.find_job(broadcast_progress.id) j
        WHERE chosen IS NULL OR j.app_id = ANY (chosen);
    END IF;
    IF app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(app);
    ELSIF apps IS NULL THEN
        refusal := carillon.refusal('id', 'what enqueue or broadcast returned', id::text,
            'Results are kept as long as the retention of the workers says.', 'P0002');
    ELSIF cardinality(apps) > 1 THEN
        refusal := carillon.refusal('app', 'the name of one of the apps that have a message of this id', 'null', (
            SELECT 'They are: ' || string_agg(a.name, ', ' ORDER BY a.name) || '.' FROM carillon.apps a
            WHERE a.id = ANY (apps)));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    app_id := apps[1];
    SELECT b.tokens, b.created_at INTO tokens, created_at
    FROM carillon.broadcasts b WHERE b.app_id = apps[1] AND b.id = broadcast_progress.id;
    IF FOUND THEN
        SELECT coalesce(sum(r.sent), 0), coalesce(sum(r.failed), 0), coalesce(sum(r.expired), 0),
            coalesce(sum(r.cancelled), 0), max(r.finished_at)
        INTO sent, failed, expired, cancelled, finished_at FROM carillon.results r
        WHERE r.app_id = apps[1] AND r.broadcast_id = broadcast_progress.id;
        SELECT sent + coalesce(sum(u.sent), 0), failed + coalesce(sum(u.failed), 0),
            expired + coalesce(sum(u.expired), 0), cancelled + coalesce(sum(u.cancelled), 0)
        INTO sent, failed, expired, cancelled FROM carillon.unfinished u
        WHERE u.app_id = apps[1] AND u.broadcast_id = broadcast_progress.id;
        remaining := tokens - sent - failed - expired - cancelled;
    ELSE
        -- One job, which has either ended, or begun, or neither.
        SELECT r.sent, r.failed, r.expired, r.cancelled, 0, r.finished_at
        INTO sent, failed, expired, cancelled, remaining, finished_at
        FROM carillon.results r WHERE r.app_id = apps[1] AND r.message_id = broadcast_progress.id;
        IF NOT FOUND THEN
            SELECT u.sent, u.failed, u.expired, u.cancelled, u.remaining, u.created_at
            INTO sent, failed, expired, cancelled, remaining, created_at
            FROM carillon.unfinished u WHERE u.app_id = apps[1] AND u.message_id = broadcast_progress.id;
        END IF;
        IF NOT FOUND THEN
            SELECT 0, 0, 0, 0, p.token_count, p.created_at
            INTO sent, failed, expired, cancelled, remaining, created_at
            FROM carillon.find_job(broadcast_progress.id) p WHERE p.app_id = apps[1];
        END IF;
        tokens := sent + failed + expired + cancelled + remaining;
    END IF;
    finished := remaining <= 0;
    IF NOT finished THEN
        finished_at := NULL;
    END IF;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (8, 'broadcast');
