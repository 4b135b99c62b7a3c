-- Calling back what no worker has claimed.
--
-- The two functions for callers run as their owner: an app may cancel, but not delete rows of the queue by itself.

-- What is needed of a job that will not be sent.
CREATE TYPE carillon.withdrawn AS (
    message_id bigint, tokens integer, reference text, broadcast_id bigint, attempt smallint
);

-- Writes them down: the results row of a message whose last tokens they held, or else one step towards it.
CREATE FUNCTION carillon.record_cancelled(app_id integer, gone carillon.withdrawn[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    message_ids CONSTANT bigint[] := ARRAY(SELECT DISTINCT g.message_id FROM unnest(gone) g);
BEGIN
    -- In order of id, as settling workers lock them.
    PERFORM FROM carillon.unfinished u WHERE u.message_id = ANY (message_ids) ORDER BY u.message_id FOR UPDATE;

    INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, cancelled, attempts)
    SELECT g.message_id, record_cancelled.app_id, max(g.reference), max(g.broadcast_id), sum(g.tokens),
        max(g.attempt) - 1
    FROM unnest(gone) g
    WHERE NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = g.message_id)
    GROUP BY g.message_id;

    UPDATE carillon.unfinished u SET remaining = u.remaining - g.tokens, cancelled = u.cancelled + g.tokens
    FROM (SELECT w.message_id, sum(w.tokens) AS tokens FROM unnest(gone) w GROUP BY w.message_id) g
    WHERE u.message_id = g.message_id;

    WITH ended AS (
        DELETE FROM carillon.unfinished u WHERE u.message_id = ANY (message_ids) AND u.remaining <= 0 RETURNING u.*
    )
    INSERT INTO carillon.results
        (message_id, app_id, reference, broadcast_id, sent, failed, expired, cancelled, attempts)
    SELECT e.message_id, e.app_id, e.reference, e.broadcast_id, e.sent, e.failed, e.expired, e.cancelled, e.attempts
    FROM ended e;
END
$$;

-- Takes back a message: its job, and what of it waits for another attempt. Returns how many jobs that was.
CREATE FUNCTION carillon.cancel(message_id bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    app integer;
    job_lane smallint;
    taken carillon.withdrawn[];
    jobs integer := 0;
BEGIN
    -- A second look finds a job that moved from scheduled to messages under the first.
    FOR look IN 1..2 LOOP
        SELECT f.app_id, f.lane INTO app, job_lane FROM carillon.find_job(message_id) f;
        IF app IS NULL THEN
            SELECT u.app_id INTO app FROM carillon.unfinished u WHERE u.message_id = cancel.message_id;
        END IF;
        WITH ready AS (
            DELETE FROM carillon.messages m WHERE m.app_id = app AND m.lane = job_lane AND m.id = cancel.message_id
            RETURNING (coalesce(m.origin, m.id), cardinality(m.tokens), m.reference, m.broadcast_id,
                m.attempt)::carillon.withdrawn
        ), later AS (
            DELETE FROM carillon.scheduled s WHERE s.id = cancel.message_id OR s.origin = cancel.message_id
            RETURNING (coalesce(s.origin, s.id), cardinality(s.tokens), s.reference, s.broadcast_id,
                s.attempt)::carillon.withdrawn
        )
        SELECT array_agg(g.row) INTO taken FROM (TABLE ready UNION ALL TABLE later) g;
        PERFORM carillon.record_cancelled(app, taken);
        jobs := jobs + coalesce(cardinality(taken), 0);
        -- Retries that were due have ids of their own in messages: only the app's whole queue can tell.
        IF EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = cancel.message_id) THEN
            WITH ready AS (
                DELETE FROM carillon.messages m WHERE m.app_id = app AND m.origin = cancel.message_id
                RETURNING (m.origin, cardinality(m.tokens), m.reference, m.broadcast_id, m.attempt)::carillon.withdrawn
            )
            SELECT array_agg(g.row) INTO taken FROM ready g;
            PERFORM carillon.record_cancelled(app, taken);
            jobs := jobs + coalesce(cardinality(taken), 0);
        ELSE
            EXIT WHEN jobs > 0;
        END IF;
    END LOOP;
    RETURN jobs;
END
$$;

-- Takes back what is left of a broadcast, or of any message. Returns how many jobs that was.
CREATE FUNCTION carillon.cancel_broadcast(id bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    whole carillon.broadcasts;
    taken carillon.withdrawn[];
    jobs integer := 0;
BEGIN
    UPDATE carillon.broadcasts b SET cancelled_at = coalesce(b.cancelled_at, now())
    WHERE b.id = cancel_broadcast.id RETURNING b.* INTO whole;
    IF NOT FOUND THEN
        RETURN carillon.cancel(id);
    END IF;
    FOR look IN 1..2 LOOP
        WITH ready AS (
            DELETE FROM carillon.messages m WHERE m.app_id = whole.app_id AND m.lane = whole.lane
                AND m.id BETWEEN whole.id AND whole.last_id AND m.broadcast_id = whole.id
            RETURNING (coalesce(m.origin, m.id), cardinality(m.tokens), m.reference, m.broadcast_id,
                m.attempt)::carillon.withdrawn
        ), later AS (
            DELETE FROM carillon.scheduled s WHERE s.broadcast_id = whole.id
            RETURNING (coalesce(s.origin, s.id), cardinality(s.tokens), s.reference, s.broadcast_id,
                s.attempt)::carillon.withdrawn
        )
        SELECT array_agg(g.row) INTO taken FROM (TABLE ready UNION ALL TABLE later) g;
        PERFORM carillon.record_cancelled(whole.app_id, taken);
        jobs := jobs + coalesce(cardinality(taken), 0);
        -- Retries that were due lie behind the broadcast's own ids.
        IF EXISTS (SELECT FROM carillon.unfinished u WHERE u.broadcast_id = whole.id) THEN
            WITH ready AS (
                DELETE FROM carillon.messages m WHERE m.app_id = whole.app_id AND m.lane = whole.lane
                    AND m.id > whole.last_id AND m.broadcast_id = whole.id
                RETURNING (m.origin, cardinality(m.tokens), m.reference, m.broadcast_id, m.attempt)::carillon.withdrawn
            )
            SELECT array_agg(g.row) INTO taken FROM ready g;
            PERFORM carillon.record_cancelled(whole.app_id, taken);
            jobs := jobs + coalesce(cardinality(taken), 0);
        END IF;
    END LOOP;
    RETURN jobs;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (9, 'cancel');
