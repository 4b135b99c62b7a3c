-- Finds messages and jobs by id through indexes, without reading the whole queue: for cancel, message_status, requeue and
-- dashboards. These functions only read.

-- filled_lanes() is a loose index scan of the primary key. It goes backwards, because jobs are claimed from the head of a lane: a
-- scan would pass all the dead entries there. Its ROWS is low, so that the planner looks the results up one by one in large tables
-- instead of scanning a whole index.
CREATE OR REPLACE FUNCTION carillon.filled_lanes(of_app integer DEFAULT NULL) RETURNS TABLE (app_id integer, lane smallint)
LANGUAGE sql STABLE ROWS 50 SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE filled AS (
        (SELECT m.app_id, m.lane FROM carillon.messages m
        WHERE m.app_id <= coalesce(of_app, 2147483647) ORDER BY m.app_id DESC, m.lane DESC, m.id DESC LIMIT 1)
        UNION ALL
        SELECT next.app_id, next.lane FROM filled CROSS JOIN LATERAL (
            SELECT m.app_id, m.lane FROM carillon.messages m WHERE (m.app_id, m.lane) < (filled.app_id, filled.lane)
            ORDER BY m.app_id DESC, m.lane DESC, m.id DESC LIMIT 1) next
        WHERE filled.app_id = of_app OR of_app IS NULL)
    SELECT f.app_id, f.lane FROM filled f WHERE f.app_id = of_app OR of_app IS NULL
$$;
COMMENT ON FUNCTION carillon.filled_lanes IS 'Internal: returns the lanes that have rows.';

-- waiting_apps() is a loose index scan too.
CREATE OR REPLACE FUNCTION carillon.waiting_apps() RETURNS TABLE (app_id integer)
LANGUAGE sql STABLE ROWS 50 SET search_path = pg_catalog, carillon, pg_temp AS $$
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
COMMENT ON FUNCTION carillon.waiting_apps IS 'Internal: returns the apps that have scheduled jobs or unfinished messages.';

CREATE OR REPLACE FUNCTION carillon.chosen_apps(app text) RETURNS integer[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN app IS NULL THEN o.mine ELSE ARRAY(
        SELECT a.id FROM carillon.apps a WHERE a.name = app AND (o.mine IS NULL OR a.id = ANY (o.mine))) END
    FROM carillon.apps_of_caller() AS o(mine)
$$;
COMMENT ON FUNCTION carillon.chosen_apps IS
    'Internal: returns the apps that the argument app selects: the one with that name, or all apps that the caller may use; '
    'null means every app.';

CREATE OR REPLACE FUNCTION carillon.find_job(id bigint) RETURNS TABLE (
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
COMMENT ON FUNCTION carillon.find_job IS 'Internal: finds a job by its id, in any state.';

-- A retry or a job split off has the id of its message in origin; a job of a split message also has its broadcast. The function
-- has no SET clause, so that the planner inlines it and knows the number of ids.
CREATE OR REPLACE FUNCTION carillon.messages_of(ids bigint[])
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
    SELECT b.app_id, b.id, b.id FROM carillon.split_messages b WHERE b.id = ANY (ids)
    UNION ALL
    SELECT r.app_id, r.message_id, r.broadcast_id FROM carillon.results r
    WHERE r.message_id = ANY (ids)
    UNION ALL
    SELECT f.app_id, f.message_id, f.broadcast_id FROM carillon.failures f
    WHERE f.broadcast_id IS NOT NULL AND f.message_id = ANY (ids)
$$;
COMMENT ON FUNCTION carillon.messages_of IS 'Internal: returns the messages that ids belong to, with their apps.';

-- has_only_failures() finds what end_unrecorded() wrote. Callers evaluate it once for each message, not for each of possibly a
-- million failures; MATERIALIZED prevents the planner from changing that.
CREATE OR REPLACE FUNCTION carillon.has_only_failures(app integer, message bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT EXISTS (SELECT FROM carillon.failures f WHERE f.message_id = message AND f.app_id = app)
        AND NOT EXISTS (SELECT FROM carillon.results r WHERE r.message_id = message AND r.app_id = app)
        AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = message AND u.app_id = app)
$$;
COMMENT ON FUNCTION carillon.has_only_failures IS 'Internal: returns whether failures are the only record of a message.';

-- unrecorded_jobs() finds what end_unrecorded() wrote about a split message, by a loose index scan: a job may have a thousand
-- failures. The settings force the order of the index, and so does a range instead of the one broadcast: otherwise the planner may
-- read all failures of the message, or of the app, for each of its jobs. Its ROWS is low, as that of filled_lanes(). It is in
-- plpgsql, because that caches plans.
CREATE OR REPLACE FUNCTION carillon.unrecorded_jobs(app_id integer, broadcast bigint, max_rows bigint DEFAULT NULL)
RETURNS TABLE (message_id bigint)
LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE job (id) AS (
        (SELECT f.message_id FROM carillon.failures f
        WHERE f.app_id = unrecorded_jobs.app_id AND f.broadcast_id BETWEEN broadcast AND broadcast
        ORDER BY f.broadcast_id, f.message_id LIMIT 1)
        UNION ALL
        SELECT next.message_id FROM job CROSS JOIN LATERAL (
            SELECT f.message_id FROM carillon.failures f
            WHERE f.app_id = unrecorded_jobs.app_id AND (f.broadcast_id, f.message_id) > (broadcast, job.id)
                AND f.broadcast_id <= broadcast
            ORDER BY f.broadcast_id, f.message_id LIMIT 1) next
    )
    SELECT j.id FROM job j LIMIT max_rows;
END
$$;
COMMENT ON FUNCTION carillon.unrecorded_jobs IS
    'Internal: returns the jobs of a split message with failures that name it; at most max_rows.';

-- find_messages() reads the queue only for a reference. It is in plpgsql, because that caches plans: PostgreSQL plans an SQL
-- function each time it runs.
CREATE OR REPLACE FUNCTION carillon.find_messages(id bigint, reference text) RETURNS TABLE (app_id integer, message_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF find_messages.id IS NOT NULL THEN
        RETURN QUERY
        SELECT m.app_id, coalesce(m.broadcast_id, m.message_id) FROM carillon.messages_of(ARRAY[find_messages.id]) m
        UNION
        (WITH failed AS MATERIALIZED (
            SELECT DISTINCT f.app_id, f.message_id, f.broadcast_id FROM carillon.failures f
            WHERE f.message_id = find_messages.id
        )
        SELECT f.app_id, coalesce(f.broadcast_id, f.message_id) FROM failed f
        WHERE carillon.has_only_failures(f.app_id, f.message_id));
    ELSE
        RETURN QUERY
        SELECT k.app_id, k.id FROM (
            SELECT r.app_id, coalesce(r.broadcast_id, r.message_id) AS id, r.reference FROM carillon.results r
            UNION ALL
            SELECT u.app_id, coalesce(u.broadcast_id, u.message_id), u.reference FROM carillon.unfinished u
            UNION ALL
            SELECT b.app_id, b.id, b.reference FROM carillon.split_messages b
            UNION ALL
            SELECT m.app_id, coalesce(m.broadcast_id, m.origin, m.id), m.reference FROM carillon.messages m
            UNION ALL
            SELECT s.app_id, coalesce(s.broadcast_id, s.origin, s.id), s.reference FROM carillon.scheduled s
            UNION ALL
            SELECT i.app_id, coalesce(j.broadcast_id, j.origin, j.id), j.reference
            FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
        ) AS k
        WHERE k.reference = find_messages.reference
        UNION
        (WITH failed AS MATERIALIZED (
            SELECT DISTINCT f.app_id, f.message_id, f.broadcast_id FROM carillon.failures f
            WHERE f.reference = find_messages.reference AND f.reason = 'Unrecorded'
        )
        SELECT f.app_id, coalesce(f.broadcast_id, f.message_id) FROM failed f
        WHERE carillon.has_only_failures(f.app_id, f.message_id));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.find_messages IS
    'Internal: returns the messages with an id or a reference, each with its app; for a job of a split message, the whole message.';

-- failed_jobs() returns the id of the message and, if it was split, the ids of its jobs with failures: at most `max_rows` of each,
-- because a message may have ten thousand jobs.
CREATE OR REPLACE FUNCTION carillon.failed_jobs(app_id integer, id bigint, max_rows bigint) RETURNS TABLE (message_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT failed_jobs.id
    UNION
    (SELECT r.message_id FROM carillon.results r
    WHERE r.broadcast_id = failed_jobs.id AND r.app_id = failed_jobs.app_id AND r.failed > 0 LIMIT max_rows)
    UNION
    (SELECT u.message_id FROM carillon.unfinished u
    WHERE u.broadcast_id = failed_jobs.id AND u.app_id = failed_jobs.app_id AND u.failed > 0 LIMIT max_rows)
    UNION
    SELECT j.message_id FROM carillon.unrecorded_jobs(failed_jobs.app_id, failed_jobs.id, max_rows) j
$$;
COMMENT ON FUNCTION carillon.failed_jobs IS 'Internal: the ids that a message has in failures, by its id.';

-- message_jobs() covers all jobs of a split message, given the id of any job or retry.
CREATE OR REPLACE FUNCTION carillon.message_jobs(id bigint) RETURNS TABLE (app_id integer, message_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp SET jit = off AS $$
    WITH whole AS (
        SELECT m.app_id, coalesce(m.broadcast_id, m.message_id) AS id
        FROM carillon.messages_of(ARRAY[message_jobs.id]) m
        UNION
        SELECT r.app_id, r.broadcast_id FROM carillon.results r WHERE r.broadcast_id = message_jobs.id
        UNION
        SELECT u.app_id, u.broadcast_id FROM carillon.waiting_apps() a
        JOIN carillon.unfinished u ON u.app_id = a.app_id AND u.broadcast_id = message_jobs.id
        UNION
        SELECT f.app_id, f.message_id FROM carillon.failures f WHERE f.message_id = message_jobs.id
        UNION
        SELECT f.app_id, f.broadcast_id FROM carillon.failures f WHERE f.broadcast_id = message_jobs.id
    ), job AS (
        SELECT w.app_id, w.id FROM whole w
        UNION
        SELECT r.app_id, r.message_id FROM whole w
        JOIN carillon.results r ON r.broadcast_id = w.id AND r.app_id = w.app_id
        UNION
        SELECT u.app_id, u.message_id FROM whole w
        JOIN carillon.unfinished u ON u.broadcast_id = w.id AND u.app_id = w.app_id
        UNION
        SELECT w.app_id, n.message_id FROM whole w CROSS JOIN LATERAL carillon.unrecorded_jobs(w.app_id, w.id) n
    )
    SELECT j.app_id, j.id FROM job j CROSS JOIN carillon.apps_of_caller() AS o(mine)
    WHERE o.mine IS NULL OR j.app_id = ANY (o.mine)
$$;
COMMENT ON FUNCTION carillon.message_jobs IS 'Internal: the ids that a message has in failures, by any of its ids.';
