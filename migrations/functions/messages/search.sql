-- Searches for dashboards: what is known of a reference or a device token. They read only the newest rows of each app.

-- search_limit() reduces `max_rows_read`, so that a search of all apps stays fast enough for interactive use.
CREATE OR REPLACE FUNCTION carillon.search_limit(max_rows_read integer) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT least(max_rows_read, greatest(20, 4000 / greatest(count(*), 1))) FROM carillon.apps
$$;
COMMENT ON FUNCTION carillon.search_limit IS 'Internal: returns how many of the newest rows of each app a search reads.';

-- search_depth() is what a search of one app, or of all, may read of each app.
CREATE OR REPLACE FUNCTION carillon.search_depth(max_rows_read integer, app text) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN app IS NULL THEN carillon.search_limit(max_rows_read) ELSE max_rows_read END
$$;
COMMENT ON FUNCTION carillon.search_depth IS 'Internal: returns how many of the newest rows of each app a search reads.';

-- A search that finds nothing proves nothing about these apps.
CREATE OR REPLACE FUNCTION carillon.unsearched_apps(max_rows_read integer, with_history boolean, app text DEFAULT NULL)
RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH bounds AS MATERIALIZED (SELECT carillon.search_depth(max_rows_read, unsearched_apps.app) AS max_rows)
    SELECT a.name FROM carillon.apps a
    WHERE (unsearched_apps.app IS NULL OR a.name = unsearched_apps.app) AND (EXISTS (
            SELECT FROM carillon.filled_lanes(a.id) l CROSS JOIN LATERAL (
                SELECT FROM carillon.messages m WHERE m.app_id = l.app_id AND m.lane = l.lane
                ORDER BY m.id DESC OFFSET (SELECT max_rows / 3 FROM bounds) LIMIT 1) q)
        OR EXISTS (
            SELECT FROM carillon.scheduled s WHERE s.app_id = a.id ORDER BY s.id DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
        OR EXISTS (
            SELECT FROM carillon.unfinished u WHERE u.app_id = a.id
            ORDER BY u.message_id DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
        OR with_history AND EXISTS (
            SELECT FROM carillon.failures f WHERE f.app_id = a.id
            ORDER BY f.failed_at DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
        OR with_history AND a.keep_sent IS NOT NULL AND EXISTS (
            SELECT FROM carillon.sent_pushes s WHERE s.app_id = a.id
            ORDER BY s.sent_at DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
        OR with_history AND EXISTS (
            SELECT FROM carillon.feedback d WHERE d.app_id = a.id ORDER BY d.id DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1))
    ORDER BY a.name
$$;
COMMENT ON FUNCTION carillon.unsearched_apps IS
    'Internal: returns the apps that have more rows in the queue than search_reference or search_token reads with the same '
    'max_rows_read. If with_history is true, also those with more rows of failures, feedback or sent_pushes.';

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.max_referenced() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 10000 $$;
COMMENT ON FUNCTION carillon.max_referenced IS
    'Internal: returns how many rows of results with one reference, of any app, a search of one app reads.';

-- search_reference() finds a reference in the history through an index. The queue may have millions of rows, so only the newest
-- rows of each app (in messages, of each lane) are read. The settings force the order of the indexes: otherwise the planner might
-- sort all rows of an app. Other apps may use the same reference millions of times, so a search of one app reads some of them.
CREATE OR REPLACE FUNCTION carillon.search_reference(
    reference text, max_rows_read integer DEFAULT 4000, app text DEFAULT NULL
) RETURNS TABLE (app text, id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH bounds AS MATERIALIZED (
        SELECT carillon.search_depth(coalesce(max_rows_read, 4000), search_reference.app) AS max_rows,
            -- Null: all apps. No app has the id 0.
            CASE WHEN search_reference.app IS NOT NULL
                THEN coalesce((SELECT a.id FROM carillon.apps a WHERE a.name = search_reference.app), 0) END AS app_id
    )
    SELECT a.name, found.id FROM (
        SELECT r.app_id, r.id FROM (
            SELECT r.app_id, coalesce(r.broadcast_id, r.message_id) AS id FROM carillon.results r
            WHERE r.reference = search_reference.reference
            LIMIT CASE WHEN search_reference.app IS NULL THEN 1000 ELSE carillon.max_referenced() END) r
        UNION
        SELECT f.app_id, f.id FROM (
            SELECT f.app_id, coalesce(f.broadcast_id, f.message_id) AS id FROM carillon.failures f
            WHERE f.reference = search_reference.reference AND f.reason = 'Unrecorded' LIMIT 1000) f
        UNION
        SELECT b.app_id, b.id FROM (
            (SELECT b.app_id, b.id, b.reference FROM carillon.split_messages b
            WHERE search_reference.app IS NULL ORDER BY b.id DESC LIMIT coalesce(max_rows_read, 4000))
            UNION ALL
            (SELECT b.app_id, b.id, b.reference FROM carillon.split_messages b
            WHERE b.app_id = (SELECT app_id FROM bounds) ORDER BY b.app_id DESC, b.id DESC LIMIT coalesce(max_rows_read, 4000))
        ) b WHERE b.reference = search_reference.reference
        UNION
        SELECT q.app_id, q.id FROM carillon.filled_lanes((SELECT app_id FROM bounds)) l CROSS JOIN LATERAL (
            SELECT m.app_id, coalesce(m.broadcast_id, m.origin, m.id) AS id, m.reference FROM carillon.messages m
            WHERE m.app_id = l.app_id AND m.lane = l.lane ORDER BY m.id DESC LIMIT (SELECT max_rows / 3 FROM bounds)) q
        WHERE q.reference = search_reference.reference
        UNION
        SELECT q.app_id, q.id FROM (
            SELECT w.app_id FROM carillon.waiting_apps() w WHERE search_reference.app IS NULL
            UNION ALL SELECT n.app_id FROM bounds n WHERE n.app_id IS NOT NULL
        ) w CROSS JOIN LATERAL (
            (SELECT s.app_id, coalesce(s.broadcast_id, s.origin, s.id) AS id, s.reference FROM carillon.scheduled s
            WHERE s.app_id = w.app_id ORDER BY s.id DESC LIMIT (SELECT max_rows FROM bounds))
            UNION ALL
            (SELECT u.app_id, coalesce(u.broadcast_id, u.message_id), u.reference FROM carillon.unfinished u
            WHERE u.app_id = w.app_id ORDER BY u.message_id DESC LIMIT (SELECT max_rows FROM bounds))
        ) q WHERE q.reference = search_reference.reference
        UNION
        SELECT i.app_id, coalesce(j.broadcast_id, j.origin, j.id) FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
        WHERE j.reference = search_reference.reference
    ) AS found (app_id, id) LEFT JOIN carillon.apps a ON a.id = found.app_id
    WHERE search_reference.app IS NULL OR a.name = search_reference.app
    ORDER BY found.id DESC, a.name LIMIT 50
$$;
COMMENT ON FUNCTION carillon.search_reference IS
    'Finds up to 50 messages by reference, newest first. Waiting messages are found only among the newest max_rows_read rows of '
    'each app, a third of them for each lane. With many apps, and none named, fewer rows of each are read: 4,000 in all.';

-- token_history() and token_jobs() are what is known of some tokens in one app. Callers have the settings of search_token(), which
-- force the order of the indexes; without a SET clause, the planner inlines the functions, once for all apps.
CREATE OR REPLACE FUNCTION carillon.token_history(
    app integer, texts text[], bytes bytea[], since timestamptz, max_rows bigint
) RETURNS TABLE (
    event text, at timestamptz, token text, message_id bigint, status smallint, reason text, attempt smallint, apns_id uuid,
    requeued_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT 'registered', r.last_update, r.token, NULL::bigint, NULL::smallint, NULL::text, NULL::smallint, NULL::uuid,
        NULL::timestamptz
    FROM carillon.tokens r
    WHERE r.app_id = token_history.app AND r.token = ANY (ARRAY(SELECT lower(t) FROM unnest(texts) AS t))
    UNION ALL
    SELECT 'failed', f.failed_at, lower(f.token), f.message_id, f.status, f.reason, f.attempt, f.apns_id, f.requeued_at
    FROM (
        SELECT * FROM carillon.failures n WHERE n.app_id = token_history.app AND n.failed_at >= since
        ORDER BY n.failed_at DESC LIMIT max_rows) f
    WHERE f.token = ANY (texts)
    UNION ALL
    SELECT 'sent', s.sent_at, s.token, s.message_id, NULL, NULL, NULL, s.apns_id, NULL
    FROM carillon.sent_pushes_of(token_history.app, bytes, NULL, NULL, since, 'infinity', max_rows) s
    UNION ALL
    SELECT unnest(ARRAY['dead since', 'reported dead', CASE WHEN d.handled_at IS NOT NULL THEN 'reaped' END]),
        unnest(ARRAY[d.unregistered_at, d.seen_at, d.handled_at]), lower(d.token), NULL, NULL, d.reason, NULL, NULL, NULL
    FROM (SELECT * FROM carillon.feedback n WHERE n.app_id = token_history.app ORDER BY n.id DESC LIMIT max_rows) d
    WHERE d.token = ANY (texts)
$$;
COMMENT ON FUNCTION carillon.token_history IS
    'Internal: returns the registrations of tokens in an app, and what its newest rows of failures, feedback and sent_pushes say '
    'about them.';

CREATE OR REPLACE FUNCTION carillon.token_jobs(app integer, texts text[], max_rows bigint) RETURNS SETOF carillon.waiting_job
LANGUAGE sql STABLE AS $$
    SELECT 'ready', m.id, coalesce(m.broadcast_id, m.origin, m.id), m.lane, m.attempt, m.created_at, NULL::timestamptz,
        NULL::timestamptz, m.last_status, m.last_reason, m.expires_at,
        ARRAY(SELECT lower(t) FROM unnest(m.tokens) AS t WHERE t = ANY (texts))
    FROM carillon.filled_lanes(token_jobs.app) l CROSS JOIN LATERAL (
        SELECT * FROM carillon.messages n WHERE n.app_id = l.app_id AND n.lane = l.lane
        ORDER BY n.id DESC LIMIT max_rows / 3) m
    WHERE m.tokens && texts
    UNION ALL
    SELECT 'scheduled', s.id, coalesce(s.broadcast_id, s.origin, s.id), s.lane, s.attempt, s.created_at, s.run_at, NULL,
        s.last_status, s.last_reason, s.expires_at, ARRAY(SELECT lower(t) FROM unnest(s.tokens) AS t WHERE t = ANY (texts))
    FROM (SELECT * FROM carillon.scheduled n WHERE n.app_id = token_jobs.app ORDER BY n.id DESC LIMIT max_rows) s
    WHERE s.tokens && texts
    UNION ALL
    SELECT 'in flight', j.id, coalesce(j.broadcast_id, j.origin, j.id), j.lane, j.attempt, j.created_at, NULL, i.claimed_at,
        j.last_status, j.last_reason, j.expires_at, ARRAY(SELECT lower(t) FROM unnest(j.tokens) AS t WHERE t = ANY (texts))
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
    WHERE i.app_id = token_jobs.app AND j.tokens && texts
$$;
COMMENT ON FUNCTION carillon.token_jobs IS
    'Internal: returns the jobs with any of these tokens, among those in flight and the newest in the queue of an app.';

-- A row may be of a plain INSERT, whose tokens are in any case.
CREATE OR REPLACE FUNCTION carillon.token_texts(tokens text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT pg_catalog.lower(t) FROM pg_catalog.unnest(tokens) AS t
        UNION SELECT pg_catalog.upper(t) FROM pg_catalog.unnest(tokens) AS t UNION SELECT t FROM pg_catalog.unnest(tokens) AS t)
$$;
COMMENT ON FUNCTION carillon.token_texts IS 'Internal: returns how tokens may be written: as given, in lower and in upper case.';

-- search_token() and search_owner() return apps, for trace(). Indexes find registrations and owners; in failures, feedback,
-- sent_pushes and the queue, search_token() reads the newest rows of each app, as search_reference() does.
CREATE OR REPLACE FUNCTION carillon.search_token(token text, max_rows_read integer DEFAULT 2000) RETURNS TABLE (app text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH bounds AS MATERIALIZED (
        SELECT carillon.search_limit(coalesce(max_rows_read, 2000)) AS max_rows,
            carillon.token_texts(ARRAY[search_token.token]) AS texts,
            carillon.token_bytes(ARRAY[search_token.token]) AS bytes)
    SELECT a.name FROM bounds b CROSS JOIN carillon.apps a
    WHERE EXISTS (SELECT FROM carillon.token_history(a.id, b.texts, b.bytes, '-infinity', b.max_rows) h WHERE h.event IS NOT NULL)
        OR EXISTS (SELECT FROM carillon.token_jobs(a.id, b.texts, b.max_rows) j)
    ORDER BY a.name
$$;
COMMENT ON FUNCTION carillon.search_token IS
    'Returns the apps that know a device token: it is registered, or is among the newest max_rows_read rows of failures, feedback, '
    'sent_pushes and the queue of the app. With many apps, fewer rows of each are read. trace says what is known of it.';

CREATE OR REPLACE FUNCTION carillon.search_owner(owner text) RETURNS TABLE (app text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT a.name FROM carillon.apps a CROSS JOIN LATERAL carillon.owner_tokens(a.id, search_owner.owner, 1) t
    WHERE t.registered <> '{}' OR t.deleted IS NOT NULL
    ORDER BY a.name
$$;
COMMENT ON FUNCTION carillon.search_owner IS
    'Returns the apps that have a token of an owner, registered or deleted by a feedback pass. trace says what is known of it.';
