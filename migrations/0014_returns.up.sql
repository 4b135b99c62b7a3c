-- How jobs come back: what falls due, what was claimed and not sent, what a dead worker held.
--
-- Each function asks once whether any of it was called off meanwhile, and locks rows of unfinished once, sorted by id.

-- A job that is not sent, as record_cancelled takes it.
CREATE FUNCTION carillon.withdraw(job carillon.job) RETURNS carillon.withdrawn
LANGUAGE sql IMMUTABLE AS $$
    SELECT (coalesce(job.origin, job.id), pg_catalog.cardinality(job.tokens), job.reference, job.broadcast_id, job.attempt,
        job.last_status, job.last_reason)::carillon.withdrawn
$$;

-- How many different tokens these are: upper and lower case are the same, and null is the empty one.
CREATE FUNCTION carillon.count_tokens(tokens text[]) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_catalog.count(DISTINCT pg_catalog.lower(coalesce(t.token, '') COLLATE pg_catalog."C"))::integer
    FROM pg_catalog.unnest(tokens) AS t(token)
$$;

-- Locks the rows of unfinished of messages, sorted by id, and waits for nobody. Returns the messages whose rows somebody else
-- has locked.
CREATE FUNCTION carillon.lock_unfinished(messages carillon.message_key[]) RETURNS carillon.message_key[]
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH known AS MATERIALIZED (
        SELECT u.app_id, u.message_id FROM carillon.unfinished u
        JOIN unnest(messages) AS m ON m.app_id = u.app_id AND m.id = u.message_id
    ), locked AS MATERIALIZED (
        SELECT u.app_id, u.message_id FROM carillon.unfinished u
        JOIN unnest(messages) AS m ON m.app_id = u.app_id AND m.id = u.message_id
        ORDER BY u.app_id, u.message_id FOR UPDATE OF u SKIP LOCKED
    )
    SELECT coalesce(array_agg((k.app_id, k.message_id)::carillon.message_key), '{}') FROM known k
    WHERE NOT EXISTS (SELECT FROM locked l WHERE l.app_id = k.app_id AND l.message_id = k.message_id)
$$;

-- Numbers that no job of the app has, as many as there are jobs. Where somebody has inserted rows ahead of the sequence,
-- it leaps, each time twice as far: any number of such rows costs a few looks. Setting it to the highest id there is would
-- not do, for that may be the highest there can be.
CREATE FUNCTION carillon.free_ids(app integer, jobs carillon.job[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    lanes CONSTANT smallint[] := ARRAY(SELECT DISTINCT j.lane FROM unnest(jobs) AS j);
    leap bigint := greatest(cardinality(jobs), 16);
    ids bigint[];
BEGIN
    LOOP
        ids := ARRAY(SELECT nextval('carillon.messages_id_seq') FROM generate_series(1, cardinality(jobs)));
        IF NOT EXISTS (SELECT FROM carillon.messages m WHERE m.app_id = app AND m.lane = ANY (lanes) AND m.id = ANY (ids))
            AND NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = app AND s.id = ANY (ids))
        THEN
            RETURN ids;
        END IF;
        PERFORM count(nextval('carillon.messages_id_seq')) FROM generate_series(1, leap);
        leap := leap * 2;
    END LOOP;
END
$$;

-- Gives jobs other ids, because somebody has inserted rows with theirs. They stay what they are: their results, and the
-- apns-ids of their pushes, are those of the message they came from.
CREATE FUNCTION carillon.renumber(app integer, jobs carillon.job[]) RETURNS carillon.job[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    INSERT INTO carillon.unfinished AS u (message_id, app_id, reference, broadcast_id, remaining, attempts)
    SELECT j.id, renumber.app, j.reference, j.broadcast_id, carillon.count_tokens(j.tokens), j.attempt - 1
    FROM unnest(jobs) AS j WHERE j.origin IS NULL ORDER BY j.id
    ON CONFLICT (app_id, message_id) DO UPDATE SET remaining = u.remaining + excluded.remaining;
    RETURN ARRAY(
        SELECT ROW(n.id, j.lane, j.tokens, j.payload, j.push_type, j.priority, j.expires_at,
            j.collapse_id, j.topic, j.reference, j.on_unknown, j.attempt, j.claims, coalesce(j.origin, j.id),
            j.broadcast_id, j.created_at, j.last_status, j.last_reason)::carillon.job
        FROM unnest(jobs) WITH ORDINALITY AS j
        JOIN unnest(carillon.free_ids(app, jobs)) WITH ORDINALITY AS n(id, place) ON n.place = j.ordinality);
END
$$;

-- Stores jobs in the queue or, with waits, in scheduled, each for so many milliseconds; no two of them have the same id. What
-- PostgreSQL refuses there, because of a constraint or a trigger that somebody added, say, fails, so that nothing else waits
-- for it. Returns the ids of the jobs that are done with; something else has the others' ids, or had them a moment ago. Where
-- `is_new`, these ids were nobody's: it is a trigger that keeps the jobs out.
CREATE FUNCTION carillon.place(app integer, jobs carillon.job[], waits integer[], is_new boolean) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(jobs) / 2;
    placed bigint[] := '{}';
    refused carillon.job[];
BEGIN
    BEGIN
        PERFORM carillon.own_path();
        IF waits IS NULL THEN
            WITH put AS (
                INSERT INTO carillon.messages (app_id, lane, id, tokens, payload, push_type, priority, expires_at,
                    collapse_id, topic, reference, on_unknown, attempt, claims, origin, broadcast_id, created_at,
                    last_status, last_reason)
                SELECT place.app, j.lane, j.id, j.tokens, j.payload, j.push_type, j.priority, j.expires_at, j.collapse_id,
                    j.topic, j.reference, j.on_unknown, j.attempt, j.claims, j.origin, j.broadcast_id, j.created_at,
                    j.last_status, j.last_reason
                FROM pg_catalog.unnest(jobs) AS j
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO placed FROM put p;
        ELSE
            WITH put AS (
                INSERT INTO carillon.scheduled (app_id, id, lane, tokens, payload, push_type, priority, expires_at,
                    collapse_id, topic, reference, on_unknown, attempt, claims, origin, broadcast_id, created_at,
                    last_status, last_reason, run_at)
                SELECT place.app, j.id, j.lane, j.tokens, j.payload, j.push_type, j.priority, j.expires_at, j.collapse_id,
                    j.topic, j.reference, j.on_unknown, j.attempt, j.claims, j.origin, j.broadcast_id, j.created_at,
                    j.last_status, j.last_reason, pg_catalog.now() + pg_catalog.float8(j.wait) * interval '1 millisecond'
                FROM unnest(jobs, waits) AS j(id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
                    topic, reference, on_unknown, attempt, claims, origin, broadcast_id, created_at, last_status,
                    last_reason, wait)
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO placed FROM put p;
        END IF;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, carillon, pg_temp', true);  -- ours again
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) THEN
            RAISE;
        END IF;
        IF half = 0 THEN
            PERFORM carillon.fail_jobs(app, jobs, 'Unqueued');
            RETURN ARRAY[jobs[1].id];
        END IF;
        -- One of them is to blame: halves are tried until it is alone.
        RETURN carillon.place(app, jobs[:half], waits[:half], is_new)
            || carillon.place(app, jobs[half + 1:], waits[half + 1:], is_new);
    END;
    IF is_new AND cardinality(placed) < cardinality(jobs) THEN
        refused := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.id <> ALL (placed) AND CASE WHEN waits IS NULL
            THEN NOT EXISTS (SELECT FROM carillon.messages m WHERE m.app_id = app AND m.lane = j.lane AND m.id = j.id)
            ELSE NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = app AND s.id = j.id) END);
        IF cardinality(refused) > 0 THEN
            PERFORM carillon.fail_jobs(app, refused, 'Unqueued');
            placed := placed || ARRAY(SELECT r.id FROM unnest(refused) AS r);
        END IF;
    END IF;
    RETURN placed;
END
$$;

-- Puts jobs back into the queue or, with waits, aside, each for so many milliseconds. No two of them have the same id. Where
-- something else has the id of one, it gets another.
CREATE FUNCTION carillon.put_back(app integer, jobs carillon.job[], waits integer[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    is_new boolean := false;
    placed bigint[];
BEGIN
    LOOP
        placed := carillon.place(app, jobs, waits, is_new);
        EXIT WHEN cardinality(placed) >= cardinality(jobs);
        IF waits IS NOT NULL THEN
            SELECT array_agg(j.wait) INTO waits FROM unnest(jobs, waits) AS j(id, lane, tokens, payload, push_type, priority,
                expires_at, collapse_id, topic, reference, on_unknown, attempt, claims, origin, broadcast_id, created_at,
                last_status, last_reason, wait)
            WHERE j.id <> ALL (placed);
        END IF;
        jobs := carillon.renumber(app, ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.id <> ALL (placed)));
        is_new := true;
    END LOOP;
END
$$;

-- Ends jobs that were called off. Where PostgreSQL refuses to write that, they fail: nothing else waits for them.
CREATE FUNCTION carillon.call_off(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    gone CONSTANT carillon.withdrawn[] := ARRAY(SELECT carillon.withdraw(j) FROM unnest(jobs) AS j);
BEGIN
    PERFORM carillon.own_path();
    PERFORM carillon.record_cancelled(app, gone);
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) THEN
            RAISE;
        END IF;
        PERFORM carillon.fail_jobs(app, jobs, 'Unrecorded');
END
$$;

-- Puts jobs back to be claimed, but for those that were called off. No two of them have the same id. Returns how many there
-- were.
CREATE FUNCTION carillon.restore(
    app integer, jobs carillon.job[], gone carillon.message_key[], unsure carillon.message_key[]
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    restored CONSTANT bigint := cardinality(jobs);
    off carillon.job[];
    aside carillon.job[];
BEGIN
    IF cardinality(gone) > 0 THEN
        off := ARRAY(
            SELECT j FROM unnest(jobs) AS j WHERE (app, coalesce(j.origin, j.id))::carillon.message_key = ANY (gone));
    END IF;
    IF cardinality(off) > 0 THEN
        PERFORM carillon.call_off(app, off);
        jobs := ARRAY(
            SELECT j FROM unnest(jobs) AS j WHERE (app, coalesce(j.origin, j.id))::carillon.message_key <> ALL (gone));
    END IF;
    IF cardinality(unsure) > 0 THEN
        -- In a second it will be known.
        aside := ARRAY(
            SELECT j FROM unnest(jobs) AS j
            WHERE (app, coalesce(j.origin, j.id)) IN (SELECT u.app_id, u.id FROM unnest(unsure) AS u));
        jobs := ARRAY(
            SELECT j FROM unnest(jobs) AS j
            WHERE (app, coalesce(j.origin, j.id)) NOT IN (SELECT u.app_id, u.id FROM unnest(unsure) AS u));
        PERFORM carillon.put_back(app, aside, array_fill(1000, ARRAY[cardinality(aside)])) WHERE cardinality(aside) > 0;
    END IF;
    PERFORM carillon.put_back(app, jobs);
    RETURN restored;
END
$$;

-- Leaves rows of scheduled that are due where they are for another second: in a second it will be known whether they were
-- called off. The rows stay the same, so that whoever waits to delete them does. Should PostgreSQL refuse that, because of a
-- trigger that somebody added, say, or somebody have the table locked, they stay due.
CREATE FUNCTION carillon.put_off(due tid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.own_path();
    UPDATE carillon.scheduled s SET run_at = pg_catalog.now() + interval '1 second' WHERE s.ctid = ANY (due);
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) AND SQLSTATE <> '55P03' THEN
            RAISE;
        END IF;
END
$$;

-- Moves these rows of scheduled to the queue, but for those that were called off. A row for each lane that got some.
CREATE FUNCTION carillon.move_due(due tid[], gone carillon.message_key[])
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    ready record;
BEGIN
    FOR ready IN
        WITH taken AS (DELETE FROM carillon.scheduled s WHERE s.ctid = ANY (due) RETURNING s.*)
        SELECT t.app_id, t.lane, min(t.id) AS lowest, array_agg(ROW(t.id, t.lane, t.tokens, t.payload, t.push_type,
            t.priority, t.expires_at, t.collapse_id, t.topic, t.reference, t.on_unknown, t.attempt, t.claims, t.origin,
            t.broadcast_id, t.created_at, t.last_status, t.last_reason)::carillon.job ORDER BY t.id) AS jobs
        FROM taken t GROUP BY t.app_id, t.lane
    LOOP
        app_id := ready.app_id;
        lane := ready.lane;
        lowest := ready.lowest;
        jobs := carillon.restore(ready.app_id, ready.jobs, gone, '{}');
        RETURN NEXT;
    END LOOP;
END
$$;

-- Moves what is due from scheduled to the queue, beginning behind a place in the order of time and id: what was moved
-- before may still stand in the index, dead, for as long as somebody's transaction is open. A row for each lane that got
-- some: how many, and the lowest id. The last row has no lane: it says where the next call may begin.
--
-- It is one statement for all apps, so it waits for nobody for long. What was called off and cannot be counted now, since
-- somebody has its row of unfinished locked, stays where it is, and so does what is being called off. So does a job whose
-- id, or whose message's row of unfinished, somebody holds in an open transaction: then jobs move one by one, and after
-- several of that kind the rest stays too.
CREATE FUNCTION carillon.promote(
    most integer, after timestamptz DEFAULT '-infinity', after_id bigint DEFAULT -9223372036854775808
)
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint, place timestamptz, place_id bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '10ms' AS $$
DECLARE
    most_locks CONSTANT integer := 8;
    locks integer := 0;
    one tid;
    due tid[];
    unsure tid[];
    apps integer[];
    messages bigint[];
    broadcasts bigint[];
    is_large boolean;
    off record;
BEGIN
    -- A clock that was set back leaves the place in the future.
    IF after > now() THEN
        after := '-infinity';
        after_id := -9223372036854775808;
    END IF;
    due := ARRAY(
        SELECT s.ctid FROM carillon.scheduled s WHERE s.run_at <= now() AND (s.run_at, s.id) > (after, after_id)
        ORDER BY s.run_at, s.id LIMIT most FOR UPDATE SKIP LOCKED);
    SELECT array_agg(s.app_id), array_agg(coalesce(s.origin, s.id)), array_agg(s.broadcast_id),
        bool_or(pg_column_size(s.tokens) > 1048576)
    INTO apps, messages, broadcasts, is_large FROM carillon.scheduled s WHERE s.ctid = ANY (due);
    -- Those that are due and left are behind the last that was taken.
    place := now();
    place_id := 9223372036854775807;
    IF cardinality(due) >= most OR is_large THEN
        IF is_large THEN
            -- Several giants may be too much for an array: they go one by one.
            due := due[:1];
        END IF;
        SELECT s.run_at, s.id INTO place, place_id FROM carillon.scheduled s WHERE s.ctid = due[cardinality(due)];
    END IF;
    IF cardinality(due) = 0 THEN
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT o.* INTO off FROM carillon.called_off(apps, messages, broadcasts, '{}', waits => false) AS o;
    IF cardinality(off.unsure) > 0 THEN
        unsure := ARRAY(
            SELECT s.ctid FROM carillon.scheduled s WHERE s.ctid = ANY (due)
            AND (s.app_id, coalesce(s.origin, s.id)) IN (SELECT u.app_id, u.id FROM unnest(off.unsure) AS u));
        PERFORM carillon.put_off(unsure);
        due := ARRAY(SELECT d FROM unnest(due) AS d WHERE d NOT IN (SELECT u FROM unnest(unsure) AS u));
    END IF;
    IF cardinality(off.busy) > 0 THEN
        due := ARRAY(
            SELECT s.ctid FROM carillon.scheduled s WHERE s.ctid = ANY (due)
            AND (s.app_id, coalesce(s.origin, s.id))::carillon.message_key <> ALL (off.busy));
    END IF;
    BEGIN
        RETURN QUERY SELECT m.*, place, place_id FROM carillon.move_due(due, off.gone) m;
    EXCEPTION
        WHEN lock_not_available THEN
            FOREACH one IN ARRAY due LOOP
                EXIT WHEN locks >= most_locks;
                BEGIN
                    RETURN QUERY SELECT m.*, place, place_id FROM carillon.move_due(ARRAY[one], off.gone) m;
                EXCEPTION
                    WHEN lock_not_available THEN
                        locks := locks + 1;
                END;
            END LOOP;
    END;
    app_id := NULL;
    lane := NULL;
    lowest := NULL;
    jobs := NULL;
    RETURN NEXT;
END
$$;

-- Gives up claims of which nothing was sent. Returns how many jobs that was.
CREATE FUNCTION carillon.release(worker bigint, claims bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    off record;
    claim record;
    released bigint := 0;
BEGIN
    SELECT o.* INTO off FROM (
        SELECT array_agg(f.app_id) AS apps, array_agg(coalesce(j.origin, j.id)) AS messages,
            array_agg(j.broadcast_id) AS broadcasts
        FROM carillon.inflight f, unnest(f.jobs) AS j WHERE f.id = ANY (release.claims) AND f.worker_id = release.worker
    ) AS a, carillon.called_off(a.apps, a.messages, a.broadcasts, '{}') AS o;
    FOR claim IN
        WITH taken AS (
            DELETE FROM carillon.inflight f WHERE f.id = ANY (release.claims) AND f.worker_id = release.worker
            RETURNING f.app_id, f.jobs
        )
        SELECT t.app_id, t.jobs, ARRAY(
            SELECT (t.app_id, coalesce(j.origin, j.id))::carillon.message_key FROM unnest(t.jobs) AS j
            WHERE (t.app_id, coalesce(j.origin, j.id)) IN (SELECT u.app_id, u.id FROM unnest(off.unsure) AS u)) AS unsure
        FROM taken t
    LOOP
        released := released + carillon.restore(claim.app_id, claim.jobs, off.gone, claim.unsure);
    END LOOP;
    RETURN released;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    carillon.withdraw, carillon.count_tokens, carillon.lock_unfinished, carillon.called_off, carillon.free_ids,
    carillon.renumber, carillon.place, carillon.put_back, carillon.call_off, carillon.restore, carillon.put_off,
    carillon.move_due,
    carillon.promote, carillon.release, carillon.record_cancelled
TO carillon_worker;

INSERT INTO carillon.schema_migrations (version, name) VALUES (14, 'returns');
