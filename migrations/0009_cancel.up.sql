-- Calling back what no worker has claimed.
--
-- The functions for callers run as their owner: an app may cancel, but not delete rows of the queue by itself.
--
-- Nobody waits in a circle here, because everybody takes locks in one order: first the advisory lock of the message or
-- broadcast, then its row of broadcasts, then rows of messages and scheduled, and last, once in a call and sorted by id,
-- rows of unfinished. Workers skip rows of the first kinds that somebody has locked, and wait for unfinished only, which
-- they lock sorted too. Only a transaction that calls several of these functions can break the order: cancel_messages
-- takes back any number of messages in one call.

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

-- How many tokens of a message, or of a broadcast, are in flight.
CREATE FUNCTION carillon.tokens_in_flight(app integer, message_id bigint, broadcast bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(sum(cardinality(j.tokens)), 0) FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
    WHERE i.app_id = app AND (coalesce(j.origin, j.id) = tokens_in_flight.message_id OR j.broadcast_id = broadcast
        AND EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = coalesce(j.origin, j.id)))
$$;

-- Takes a message's job out of the queue, and what of it waits for another attempt. What is in flight lands, and is not
-- tried again. What was taken is not counted yet: that locks rows of unfinished.
CREATE FUNCTION carillon.take_back(message_id bigint, OUT app integer, OUT taken carillon.withdrawn[])
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    job_lane smallint;
    more carillon.withdrawn[];
    flying bigint;
    remaining bigint;
BEGIN
    taken := '{}';
    -- A second look finds a job that moved from scheduled to messages under the first.
    FOR look IN 1..2 LOOP
        SELECT f.app_id, f.lane INTO app, job_lane FROM carillon.find_job(message_id) f;
        IF app IS NULL THEN
            SELECT u.app_id INTO app FROM carillon.unfinished u WHERE u.message_id = take_back.message_id;
        END IF;
        WITH ready AS (
            DELETE FROM carillon.messages m WHERE m.app_id = app AND m.lane = job_lane AND m.id = take_back.message_id
            RETURNING (coalesce(m.origin, m.id), cardinality(m.tokens), m.reference, m.broadcast_id,
                m.attempt)::carillon.withdrawn
        ), later AS (
            DELETE FROM carillon.scheduled s WHERE s.id = take_back.message_id OR s.origin = take_back.message_id
            RETURNING (coalesce(s.origin, s.id), cardinality(s.tokens), s.reference, s.broadcast_id,
                s.attempt)::carillon.withdrawn
        )
        SELECT array_agg(g.row) INTO more FROM (TABLE ready UNION ALL TABLE later) g;
        taken := taken || more;
        SELECT u.remaining INTO remaining FROM carillon.unfinished u WHERE u.message_id = take_back.message_id;
        EXIT WHEN remaining IS NULL AND cardinality(taken) > 0;
        remaining := remaining - (SELECT coalesce(sum(t.tokens), 0) FROM unnest(taken) t);
        flying := carillon.tokens_in_flight(app, message_id, NULL);
        -- Retries that are due have ids of their own in messages, which no index finds: an INSERT would pay for it. The
        -- app's rows are looked through only when some of them are missing.
        IF remaining > flying THEN
            WITH ready AS (
                DELETE FROM carillon.messages m WHERE m.app_id = app AND m.origin = take_back.message_id
                RETURNING (m.origin, cardinality(m.tokens), m.reference, m.broadcast_id, m.attempt)::carillon.withdrawn
            )
            SELECT array_agg(g.row) INTO more FROM ready g;
            taken := taken || more;
            remaining := remaining - (SELECT coalesce(sum(t.tokens), 0) FROM unnest(more) t);
        END IF;
    END LOOP;
    IF flying > 0 OR remaining > 0 THEN
        INSERT INTO carillon.cancelled AS c (message_id) VALUES (take_back.message_id) ON CONFLICT DO NOTHING;
    END IF;
END
$$;

-- Takes back messages, in whatever order they are named. Returns how many jobs that was. What is in flight lands, and is
-- not tried again.
CREATE FUNCTION carillon.cancel_messages(message_ids bigint[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    ids CONSTANT bigint[] := ARRAY(
        SELECT DISTINCT m.id FROM unnest(message_ids) AS m(id) WHERE m.id IS NOT NULL ORDER BY m.id);
    key bigint;
    message bigint;
    back record;
    apps integer[] := '{}';
    taken carillon.withdrawn[] := '{}';
BEGIN
    FOR key IN
        SELECT DISTINCT coalesce(f.broadcast_id, u.broadcast_id, m.id) FROM unnest(ids) AS m(id)
        LEFT JOIN LATERAL carillon.find_job(m.id) AS f ON true
        LEFT JOIN carillon.unfinished u ON u.message_id = m.id ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended('carillon.cancel', key));
    END LOOP;
    FOREACH message IN ARRAY ids LOOP
        SELECT t.app, t.taken INTO back FROM carillon.take_back(message) AS t;
        apps := apps || array_fill(back.app, ARRAY[cardinality(back.taken)]);
        taken := taken || back.taken;
    END LOOP;
    -- All at once and sorted, whichever apps they are of: so do workers that take over.
    PERFORM FROM carillon.unfinished u WHERE u.message_id = ANY (ids) ORDER BY u.message_id FOR UPDATE;
    PERFORM carillon.record_cancelled(a.app, ARRAY(
        SELECT (t.message_id, t.tokens, t.reference, t.broadcast_id, t.attempt)::carillon.withdrawn
        FROM unnest(apps, taken) AS t(app, message_id, tokens, reference, broadcast_id, attempt) WHERE t.app = a.app))
    FROM (SELECT DISTINCT u.app FROM unnest(apps) AS u(app)) AS a;
    RETURN cardinality(taken);
END
$$;

-- Takes back one message.
CREATE FUNCTION carillon.cancel(message_id bigint) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT carillon.cancel_messages(ARRAY[message_id])
$$;

-- Takes back what is left of a broadcast, or of any message. Returns how many jobs that was. What is in flight lands,
-- and is not tried again: workers look at cancelled_at before they put anything of a broadcast back.
CREATE FUNCTION carillon.cancel_broadcast(id bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    whole carillon.broadcasts;
    more carillon.withdrawn[];
    taken carillon.withdrawn[] := '{}';
    remaining bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('carillon.cancel', cancel_broadcast.id));
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
        SELECT array_agg(g.row) INTO more FROM (TABLE ready UNION ALL TABLE later) g;
        taken := taken || more;
        -- Retries that are due, and parts of jobs, lie behind the broadcast's own ids.
        SELECT sum(u.remaining - coalesce(t.tokens, 0)) INTO remaining FROM carillon.unfinished u
        LEFT JOIN (SELECT g.message_id, sum(g.tokens) AS tokens FROM unnest(taken) g GROUP BY g.message_id) t
            ON t.message_id = u.message_id
        WHERE u.broadcast_id = whole.id;
        IF remaining > carillon.tokens_in_flight(whole.app_id, NULL, whole.id) THEN
            WITH ready AS (
                DELETE FROM carillon.messages m WHERE m.app_id = whole.app_id AND m.lane = whole.lane
                    AND m.id > whole.last_id AND m.broadcast_id = whole.id
                RETURNING (m.origin, cardinality(m.tokens), m.reference, m.broadcast_id, m.attempt)::carillon.withdrawn
            )
            SELECT array_agg(g.row) INTO more FROM ready g;
            taken := taken || more;
        END IF;
    END LOOP;
    PERFORM carillon.record_cancelled(whole.app_id, taken);
    RETURN cardinality(taken);
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (9, 'cancel');
