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

-- Writes them down: the results row of a message whose last tokens they held, or else one step towards it. Its search_path
-- is the caller's: for workers see own_path().
CREATE FUNCTION carillon.record_cancelled(app_id integer, gone carillon.withdrawn[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    message_ids CONSTANT bigint[] := ARRAY(SELECT DISTINCT g.message_id FROM pg_catalog.unnest(gone) g);
BEGIN
    -- In order of id, as settling workers lock them.
    PERFORM FROM carillon.unfinished u WHERE u.message_id = ANY (message_ids) ORDER BY u.message_id FOR UPDATE;

    INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, cancelled, attempts)
    SELECT g.message_id, record_cancelled.app_id, max(g.reference), max(g.broadcast_id), sum(g.tokens),
        max(g.attempt) - 1
    FROM pg_catalog.unnest(gone) g
    WHERE NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = g.message_id)
    GROUP BY g.message_id;

    UPDATE carillon.unfinished u SET remaining = u.remaining - g.tokens, cancelled = u.cancelled + g.tokens
    FROM (SELECT w.message_id, sum(w.tokens) AS tokens FROM pg_catalog.unnest(gone) w GROUP BY w.message_id) g
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

-- How many tokens of a broadcast are in flight, of those of its messages that do not end in one piece.
CREATE FUNCTION carillon.tokens_in_flight(app integer, broadcast bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(sum(cardinality(j.tokens)), 0) FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
    WHERE i.app_id = app AND j.broadcast_id = broadcast
        AND EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = coalesce(j.origin, j.id))
$$;

-- What is left of a message that was taken back: so many tokens are not counted yet, so many of them are in flight.
CREATE TYPE carillon.remnant AS (app_id integer, message_id bigint, remaining bigint, flying bigint);

-- What is left of messages of which these jobs were taken out of the queue. Reads what is in flight once for all of them.
CREATE FUNCTION carillon.remnants(message_ids bigint[], taken carillon.withdrawn[]) RETURNS carillon.remnant[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN ARRAY(
        SELECT (coalesce(k.app_id, f.app_id), coalesce(k.message_id, f.message_id), k.remaining, coalesce(f.tokens, 0))
            ::carillon.remnant
        FROM (
            SELECT u.app_id, u.message_id, u.remaining - coalesce(t.tokens, 0) AS remaining FROM carillon.unfinished u
            LEFT JOIN (SELECT w.message_id, sum(w.tokens) AS tokens FROM unnest(taken) w GROUP BY w.message_id) t
                ON t.message_id = u.message_id
            WHERE u.message_id = ANY (message_ids)
        ) k
        FULL JOIN (
            SELECT i.app_id, coalesce(j.origin, j.id) AS message_id, sum(cardinality(j.tokens)) AS tokens
            FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
            WHERE coalesce(j.origin, j.id) = ANY (message_ids) GROUP BY 1, 2
        ) f ON f.app_id = k.app_id AND f.message_id = k.message_id
    );
END
$$;

-- Takes the jobs of messages out of the queue, and what of them waits for another attempt. What is in flight lands, and is
-- not tried again. What was taken is not counted yet: that locks rows of unfinished. Returns the jobs, and the app of each.
CREATE FUNCTION carillon.take_back(message_ids bigint[], OUT apps integer[], OUT taken carillon.withdrawn[])
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    -- Those of which there may be more.
    sought bigint[] := message_ids;
    more_apps integer[];
    more carillon.withdrawn[];
    rest carillon.remnant[];
    short record;
    retries carillon.withdrawn[];
BEGIN
    apps := '{}';
    taken := '{}';
    -- A second look finds jobs that moved from scheduled to messages under the first.
    FOR look IN 1..2 LOOP
        WITH ready AS (
            DELETE FROM carillon.messages m USING carillon.filled_lanes() l
            WHERE m.app_id = l.app_id AND m.lane = l.lane AND m.id = ANY (sought)
            RETURNING m.app_id, (coalesce(m.origin, m.id), cardinality(m.tokens), m.reference, m.broadcast_id,
                m.attempt)::carillon.withdrawn AS job
        ), later AS (
            DELETE FROM carillon.scheduled s WHERE s.id = ANY (sought) OR s.origin = ANY (sought)
            RETURNING s.app_id, (coalesce(s.origin, s.id), cardinality(s.tokens), s.reference, s.broadcast_id,
                s.attempt)::carillon.withdrawn AS job
        )
        SELECT array_agg(g.app_id), array_agg(g.job) INTO more_apps, more FROM (TABLE ready UNION ALL TABLE later) g;
        apps := apps || more_apps;
        taken := taken || more;
        -- A message that waited whole has ended.
        sought := ARRAY(
            SELECT s.id FROM unnest(sought) AS s(id)
            WHERE s.id NOT IN (SELECT t.message_id FROM unnest(more) t)
                OR EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = s.id));
        EXIT WHEN cardinality(sought) = 0;
        rest := carillon.remnants(sought, taken);
        retries := '{}';
        -- Retries that are due have ids of their own in messages, which no index finds: an INSERT would pay for it. An
        -- app's rows are looked through only when some of them are missing.
        FOR short IN
            SELECT r.app_id, array_agg(r.message_id) AS message_ids FROM unnest(rest) r WHERE r.remaining > r.flying
            GROUP BY r.app_id
        LOOP
            WITH ready AS (
                DELETE FROM carillon.messages m WHERE m.app_id = short.app_id AND m.origin = ANY (short.message_ids)
                RETURNING (m.origin, cardinality(m.tokens), m.reference, m.broadcast_id, m.attempt)::carillon.withdrawn
                    AS job
            )
            SELECT array_agg(g.job) INTO more FROM ready g;
            apps := apps || array_fill(short.app_id, ARRAY[coalesce(cardinality(more), 0)]);
            retries := retries || more;
        END LOOP;
        taken := taken || retries;
    END LOOP;
    IF cardinality(sought) > 0 THEN
        INSERT INTO carillon.cancelled AS c (message_id)
        SELECT DISTINCT r.message_id FROM unnest(rest) r
        WHERE r.flying > 0 OR r.remaining > (
            SELECT coalesce(sum(t.tokens), 0) FROM unnest(retries) t WHERE t.message_id = r.message_id)
        ON CONFLICT DO NOTHING;
    END IF;
END
$$;

-- Takes back messages, in whatever order they are named. Returns how many jobs that was. What is in flight lands, and is
-- not tried again.
CREATE FUNCTION carillon.cancel_messages(message_ids bigint[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids CONSTANT bigint[] := ARRAY(
        SELECT DISTINCT m.id FROM unnest(message_ids) AS m(id) WHERE m.id IS NOT NULL ORDER BY m.id);
    key bigint;
    back record;
BEGIN
    FOR key IN
        SELECT DISTINCT coalesce(f.broadcast_id, m.id) FROM unnest(ids) AS m(id) LEFT JOIN (
            SELECT q.id, q.broadcast_id FROM carillon.filled_lanes() l, carillon.messages q
            WHERE q.app_id = l.app_id AND q.lane = l.lane AND q.id = ANY (ids)
            UNION ALL
            SELECT s.id, s.broadcast_id FROM carillon.scheduled s WHERE s.id = ANY (ids)
            UNION ALL
            SELECT j.id, j.broadcast_id FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j WHERE j.id = ANY (ids)
            UNION ALL
            SELECT u.message_id, u.broadcast_id FROM carillon.unfinished u WHERE u.message_id = ANY (ids)
        ) AS f ON f.id = m.id AND f.broadcast_id IS NOT NULL ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended('carillon.cancel', key));
    END LOOP;
    SELECT t.apps, t.taken INTO back FROM carillon.take_back(ids) AS t;
    -- All at once and sorted, whichever apps they are of: so do workers that take over.
    PERFORM FROM carillon.unfinished u
    WHERE u.message_id = ANY (ids || ARRAY(SELECT t.message_id FROM unnest(back.taken) AS t))
    ORDER BY u.message_id FOR UPDATE;
    PERFORM carillon.record_cancelled(a.app, ARRAY(
        SELECT (t.message_id, t.tokens, t.reference, t.broadcast_id, t.attempt)::carillon.withdrawn
        FROM unnest(back.apps, back.taken) AS t(app, message_id, tokens, reference, broadcast_id, attempt)
        WHERE t.app = a.app))
    FROM (SELECT DISTINCT u.app FROM unnest(back.apps) AS u(app)) AS a;
    RETURN cardinality(back.taken);
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
        IF remaining > carillon.tokens_in_flight(whole.app_id, whole.id) THEN
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
