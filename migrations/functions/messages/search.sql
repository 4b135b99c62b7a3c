-- Searches for dashboards: what is known of a reference or a device token. They read only the newest rows of each app.

-- search_limit() reduces `max_rows_read`, so that a search of all apps stays fast enough for interactive use.
CREATE OR REPLACE FUNCTION carillon.search_limit(max_rows_read integer) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT least(max_rows_read, greatest(20, 4000 / greatest(count(*), 1))) FROM carillon.apps
$$;
COMMENT ON FUNCTION carillon.search_limit IS 'Internal: returns how many of the newest rows of each app a search reads.';

-- A search that finds nothing proves nothing about these apps.
CREATE OR REPLACE FUNCTION carillon.unsearched_apps(max_rows_read integer, with_history boolean) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH bounds AS MATERIALIZED (SELECT carillon.search_limit(max_rows_read) AS max_rows)
    SELECT a.name FROM carillon.apps a
    WHERE EXISTS (
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
        OR with_history AND EXISTS (
            SELECT FROM carillon.feedback d WHERE d.app_id = a.id ORDER BY d.id DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
    ORDER BY a.name
$$;
COMMENT ON FUNCTION carillon.unsearched_apps IS
    'Internal: returns the apps that have more rows in the queue than search_reference or search_token reads with the same '
    'max_rows_read. If with_history is true, also those with more rows of failures or feedback.';

-- search_reference() finds a reference in the history through an index. The queue may have millions of rows, so only the newest
-- rows of each app (in messages, of each lane) are read. The settings force the order of the indexes: otherwise the planner might
-- sort all rows of an app.
CREATE OR REPLACE FUNCTION carillon.search_reference(reference text, max_rows_read integer DEFAULT 4000)
RETURNS TABLE (app text, id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH bounds AS MATERIALIZED (SELECT carillon.search_limit(coalesce(max_rows_read, 4000)) AS max_rows)
    SELECT a.name, found.id FROM (
        (SELECT r.app_id, coalesce(r.broadcast_id, r.message_id) FROM carillon.results r
        WHERE r.reference = search_reference.reference LIMIT 1000)
        UNION
        (SELECT f.app_id, coalesce(f.broadcast_id, f.message_id) FROM carillon.failures f
        WHERE f.reference = search_reference.reference AND f.reason = 'Unrecorded' LIMIT 1000)
        UNION
        SELECT b.app_id, b.id FROM (
            SELECT * FROM carillon.split_messages b ORDER BY b.id DESC LIMIT coalesce(max_rows_read, 4000)) b
        WHERE b.reference = search_reference.reference
        UNION
        SELECT q.app_id, q.id FROM carillon.filled_lanes() l CROSS JOIN LATERAL (
            SELECT m.app_id, coalesce(m.broadcast_id, m.origin, m.id) AS id, m.reference FROM carillon.messages m
            WHERE m.app_id = l.app_id AND m.lane = l.lane ORDER BY m.id DESC LIMIT (SELECT max_rows / 3 FROM bounds)) q
        WHERE q.reference = search_reference.reference
        UNION
        SELECT q.app_id, q.id FROM carillon.waiting_apps() w CROSS JOIN LATERAL (
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
    ORDER BY found.id DESC, a.name LIMIT 50
$$;
COMMENT ON FUNCTION carillon.search_reference IS
    'Finds up to 50 messages by reference, newest first. Waiting messages are found only among the newest max_rows_read rows of '
    'each app, a third of them for each lane. With many apps, fewer rows of each are read: 4,000 in all.';

-- search_token() finds the registration through an index. In failures, feedback and the queue, the newest rows of each app are
-- read, as in search_reference.
CREATE OR REPLACE FUNCTION carillon.search_token(token text, app text DEFAULT NULL, max_rows_read integer DEFAULT 2000)
RETURNS TABLE (
    app text, event text, at timestamptz, message_id bigint, status smallint, reason text, attempt smallint, apns_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH bounds AS MATERIALIZED (SELECT carillon.search_limit(coalesce(max_rows_read, 2000)) AS max_rows)
    SELECT a.name, found.event, found.at, found.message_id, found.status, found.reason, found.attempt, found.apns_id
    FROM carillon.apps a
    CROSS JOIN LATERAL (SELECT ARRAY[search_token.token, lower(search_token.token), upper(search_token.token)] AS texts) t
    CROSS JOIN LATERAL (
        SELECT 'registered' AS event, r.last_update AS at, NULL::bigint AS message_id, NULL::smallint AS status,
            NULL::text AS reason, NULL::smallint AS attempt, NULL::uuid AS apns_id
        FROM carillon.tokens r WHERE r.app_id = a.id AND r.token = lower(search_token.token)
        UNION ALL
        SELECT 'failed', f.failed_at, f.message_id, f.status, f.reason, f.attempt, f.apns_id
        FROM (
            SELECT * FROM carillon.failures f WHERE f.app_id = a.id
            ORDER BY f.failed_at DESC LIMIT (SELECT max_rows FROM bounds)) f
        WHERE f.token = ANY (t.texts)
        UNION ALL
        SELECT unnest(ARRAY['dead since', 'reported dead', CASE WHEN d.handled_at IS NOT NULL THEN 'reaped' END]),
            unnest(ARRAY[d.unregistered_at, d.seen_at, d.handled_at]), NULL, NULL, d.reason, NULL, NULL
        FROM (SELECT * FROM carillon.feedback d WHERE d.app_id = a.id ORDER BY d.id DESC LIMIT (SELECT max_rows FROM bounds)) d
        WHERE d.token = ANY (t.texts)
        UNION ALL
        SELECT 'ready', m.created_at, coalesce(m.broadcast_id, m.origin, m.id), m.last_status, m.last_reason, m.attempt, NULL
        FROM carillon.filled_lanes(a.id) l CROSS JOIN LATERAL (
            SELECT * FROM carillon.messages m WHERE m.app_id = l.app_id AND m.lane = l.lane
            ORDER BY m.id DESC LIMIT (SELECT max_rows / 3 FROM bounds)) m
        WHERE m.tokens && t.texts
        UNION ALL
        SELECT 'scheduled', s.run_at, coalesce(s.broadcast_id, s.origin, s.id), s.last_status, s.last_reason, s.attempt, NULL
        FROM (SELECT * FROM carillon.scheduled s WHERE s.app_id = a.id ORDER BY s.id DESC LIMIT (SELECT max_rows FROM bounds)) s
        WHERE s.tokens && t.texts
        UNION ALL
        SELECT 'in flight', i.claimed_at, coalesce(j.broadcast_id, j.origin, j.id), j.last_status, j.last_reason, j.attempt,
            NULL
        FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
        WHERE i.app_id = a.id AND j.tokens && t.texts
    ) found
    WHERE (search_token.app IS NULL OR a.name = search_token.app) AND found.event IS NOT NULL
    ORDER BY found.at DESC NULLS LAST, found.message_id DESC LIMIT 100
$$;
COMMENT ON FUNCTION carillon.search_token IS
    'Returns what is known of a device token, newest first, up to 100 rows: its registration, and what the newest max_rows_read '
    'rows of failures, feedback and the queue of each app say about it. With many apps, fewer rows of each are read. A push that '
    'was sent is not found: its token is recorded only with keep_unique_ids, in results.';
