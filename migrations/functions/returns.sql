-- Jobs that return to the queue: due ones, claims that were not sent, claims of dead workers.
--
-- Each function checks once for each app which jobs were cancelled meanwhile, and locks its rows of unfinished once,
-- sorted by id.

CREATE OR REPLACE FUNCTION carillon.as_cancelled(job carillon.job) RETURNS carillon.cancelled_job
LANGUAGE sql IMMUTABLE AS $$
    SELECT (coalesce(job.origin, job.id), pg_catalog.cardinality(job.tokens), job.reference, job.broadcast_id, job.attempt,
        job.last_status, job.last_reason, job.created_at, carillon.updated_tokens(job.push_type, job.tokens))::carillon.cancelled_job
$$;
COMMENT ON FUNCTION carillon.as_cancelled IS 'Internal: what the record of a cancelled job needs.';

-- Upper and lower case are the same, and null is the empty one.
CREATE OR REPLACE FUNCTION carillon.count_tokens(tokens text[]) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_catalog.count(DISTINCT pg_catalog.lower(coalesce(t.token, '') COLLATE pg_catalog."C"))::integer
    FROM pg_catalog.unnest(tokens) AS t(token)
$$;
COMMENT ON FUNCTION carillon.count_tokens IS 'Internal: how many different tokens there are.';

-- Sorted by id, without waiting.
CREATE OR REPLACE FUNCTION carillon.lock_unfinished(app integer, messages bigint[]) RETURNS bigint[]
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH known AS MATERIALIZED (
        SELECT u.message_id FROM unnest(messages) AS m(id)
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = m.id
    ), locked AS MATERIALIZED (
        SELECT u.message_id FROM unnest(messages) AS m(id)
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = m.id
        ORDER BY u.message_id FOR UPDATE OF u SKIP LOCKED
    )
    SELECT coalesce(array_agg(k.message_id), '{}') FROM known k
    WHERE k.message_id NOT IN (SELECT l.message_id FROM locked l)
$$;
COMMENT ON FUNCTION carillon.lock_unfinished IS
    'Internal: locks the rows of unfinished of messages; returns the messages whose rows another session has locked.';

-- The latter are `unsure`. Callers give each message with its broadcast. A cancel that finds a row of broadcasts locked here
-- waits until the jobs are back; for messages of one job hold_off_cancels() does that. A caller with `requeues` false puts all
-- jobs into scheduled and leaves the check to promote(). If any message was cancelled, this locks the rows of unfinished that
-- will change: those of cancelled messages and of `touched`. A caller with `waits` false gets the cancelled messages whose rows
-- are locked as `busy`. Runs as its owner: a row lock requires the right to update, which workers lack.
CREATE OR REPLACE FUNCTION carillon.find_cancelled(
    app integer, messages bigint[], broadcasts bigint[], touched bigint[], requeues boolean DEFAULT true,
    waits boolean DEFAULT true, OUT cancelled bigint[], OUT unsure bigint[], OUT busy bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    wanted bigint[];
    known bigint[];
    over bigint[];
    held bigint[] := '{}';
    alone bigint[] := messages;  -- messages of one job
BEGIN
    cancelled := '{}';
    unsure := '{}';
    busy := '{}';
    IF array_remove(broadcasts, NULL) <> '{}' THEN
        wanted := ARRAY(SELECT DISTINCT b.id FROM unnest(broadcasts) AS b(id) WHERE b.id IS NOT NULL);
        WITH locked AS MATERIALIZED (
            SELECT b.id, b.cancelled_at FROM unnest(wanted) AS w(id)
            JOIN carillon.broadcasts b ON b.app_id = app AND b.id = w.id FOR SHARE OF b SKIP LOCKED
        )
        SELECT coalesce(array_agg(l.id), '{}'), coalesce(array_agg(l.id) FILTER (WHERE l.cancelled_at IS NOT NULL), '{}')
        INTO known, over FROM locked l;
        IF cardinality(known) < cardinality(wanted) THEN
            held := ARRAY(
                SELECT b.id FROM unnest(wanted) AS w(id) JOIN carillon.broadcasts b ON b.app_id = app AND b.id = w.id
                WHERE b.id <> ALL (known));
        END IF;
        SELECT array_agg(m.id) FILTER (WHERE (m.broadcast = ANY (known || held)) IS NOT TRUE),
            coalesce(array_agg(m.id) FILTER (WHERE m.broadcast = ANY (held)), '{}'),
            coalesce(array_agg(m.id) FILTER (WHERE m.broadcast = ANY (over)), '{}')
        INTO alone, unsure, cancelled FROM unnest(messages, broadcasts) AS m(id, broadcast);
    END IF;
    IF requeues AND cardinality(alone) > 0 THEN
        BEGIN
            -- If no cancel is running, this lock suffices.
            LOCK TABLE carillon.cancelling IN ROW EXCLUSIVE MODE NOWAIT;
        EXCEPTION
            WHEN lock_not_available THEN
                unsure := unsure || carillon.hold_off_cancels(app, alone);
        END;
    END IF;
    -- Read last: it has every cancel that committed before.
    IF EXISTS (SELECT FROM carillon.cancelled c WHERE c.app_id = app) THEN
        cancelled := cancelled || ARRAY(
            SELECT DISTINCT c.message_id FROM unnest(messages) AS m(id)
            JOIN carillon.cancelled c ON c.app_id = app AND c.message_id = m.id);
    END IF;
    IF cardinality(cancelled) > 0 AND NOT waits THEN
        BEGIN
            LOCK TABLE carillon.unfinished, carillon.results IN ROW EXCLUSIVE MODE NOWAIT;
            busy := carillon.lock_unfinished(app, cancelled);
        EXCEPTION
            WHEN lock_not_available THEN
                busy := cancelled;
        END;
    ELSIF cardinality(cancelled) > 0 THEN
        PERFORM FROM (SELECT DISTINCT t.id FROM unnest(cancelled || touched) AS t(id)) AS k
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = k.id ORDER BY u.message_id FOR UPDATE OF u;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.find_cancelled IS
    'Internal: finds which messages of an app were cancelled, and for which that is not known yet, because they are being '
    'cancelled.';

-- If rows were inserted with ids ahead of the sequence, it leaps, twice as far each time, so any number of such rows costs a few
-- steps. It cannot start after the highest id, which may be the highest possible.
CREATE OR REPLACE FUNCTION carillon.free_ids(app integer, jobs carillon.job[]) RETURNS bigint[]
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
COMMENT ON FUNCTION carillon.free_ids IS 'Internal: unused ids for jobs of an app.';

-- Results and apns-ids stay those of the message.
CREATE OR REPLACE FUNCTION carillon.renumber(app integer, jobs carillon.job[]) RETURNS carillon.job[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    INSERT INTO carillon.unfinished AS u (message_id, app_id, reference, broadcast_id, remaining, attempts, created_at)
    SELECT j.id, renumber.app, j.reference, j.broadcast_id, carillon.count_tokens(j.tokens), j.attempt - 1,
        coalesce(j.created_at, now())
    FROM unnest(jobs) AS j WHERE j.origin IS NULL ORDER BY j.id
    ON CONFLICT (app_id, message_id) DO UPDATE SET remaining = u.remaining + excluded.remaining;
    RETURN ARRAY(
        SELECT carillon.changed(j.job, id => n.id, origin => coalesce((j.job).origin, (j.job).id))
        FROM (SELECT u AS job, row_number() OVER () AS place FROM unnest(jobs) AS u) AS j
        JOIN unnest(carillon.free_ids(app, jobs)) WITH ORDINALITY AS n(id, place) ON n.place = j.place);
END
$$;
COMMENT ON FUNCTION carillon.renumber IS 'Internal: gives jobs other ids, because rows with theirs were inserted.';

-- No two have the same id. A job that PostgreSQL refuses fails, so that the others do not wait for it. The ids that are not
-- returned are in use, or were a moment ago. With `is_new` the ids were unused, so a trigger suppressed the rows that are
-- missing.
CREATE OR REPLACE FUNCTION carillon.place(app integer, jobs carillon.job[], waits integer[], is_new boolean) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(jobs) / 2;
    placed bigint[] := '{}';
    refused carillon.job[];
    path text;
BEGIN
    BEGIN
        -- own_path() without its two calls, on the hot path.
        path := set_config('search_path', NULL, true);
        IF waits IS NULL THEN
            WITH put AS (
                INSERT INTO carillon.messages (app_id, lane, id, tokens, payload, payloads, push_type, priority, expires_at,
                    collapse_id, topic, reference, on_unknown, attempt, claims, origin, broadcast_id, created_at,
                    last_status, last_reason)
                SELECT place.app, j.lane, j.id, j.tokens, j.payload, j.payloads, j.push_type, j.priority, j.expires_at,
                    j.collapse_id,
                    j.topic, j.reference, j.on_unknown, j.attempt, j.claims, j.origin, j.broadcast_id, j.created_at,
                    j.last_status, j.last_reason
                FROM pg_catalog.unnest(jobs) AS j
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO placed FROM put p;
        ELSE
            WITH put AS (
                INSERT INTO carillon.scheduled (app_id, id, lane, tokens, payload, payloads, push_type, priority, expires_at,
                    collapse_id, topic, reference, on_unknown, attempt, claims, origin, broadcast_id, created_at,
                    last_status, last_reason, run_at)
                SELECT place.app, j.id, j.lane, j.tokens, j.payload, j.payloads, j.push_type, j.priority, j.expires_at,
                    j.collapse_id,
                    j.topic, j.reference, j.on_unknown, j.attempt, j.claims, j.origin, j.broadcast_id, j.created_at,
                    j.last_status, j.last_reason, pg_catalog.now() + pg_catalog.float8(waits[j.ordinality]) * interval '1 millisecond'
                FROM pg_catalog.unnest(jobs) WITH ORDINALITY AS j
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO placed FROM put p;
        END IF;
        path := pg_catalog.set_config('search_path', 'pg_catalog, carillon, pg_temp', true);
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) THEN
            RAISE;
        END IF;
        IF half = 0 THEN
            PERFORM carillon.fail_jobs(app, jobs, 'Unqueued');
            RETURN ARRAY[jobs[1].id];
        END IF;
        -- One of them is at fault: halving the list finds it.
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
COMMENT ON FUNCTION carillon.place IS
    'Internal: stores jobs in messages or, with waits in milliseconds, in scheduled; returns the ids of stored and failed jobs.';

-- No two have the same id. A job whose id is in use gets another. It pins no search_path, which would cost each call: see
-- own_path().
CREATE OR REPLACE FUNCTION carillon.put_back(app integer, jobs carillon.job[], waits integer[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    is_new boolean := false;
    placed bigint[];
BEGIN
    LOOP
        placed := carillon.place(app, jobs, waits, is_new);
        EXIT WHEN pg_catalog.cardinality(placed) >= pg_catalog.cardinality(jobs);
        IF waits IS NOT NULL THEN
            SELECT pg_catalog.array_agg(waits[j.ordinality] ORDER BY j.ordinality) INTO waits
            FROM pg_catalog.unnest(jobs) WITH ORDINALITY AS j WHERE j.id <> ALL (placed);
        END IF;
        jobs := carillon.renumber(app, ARRAY(SELECT j FROM pg_catalog.unnest(jobs) AS j WHERE j.id <> ALL (placed)));
        is_new := true;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.put_back IS 'Internal: returns jobs to messages or, with waits in milliseconds, to scheduled.';

-- If PostgreSQL refuses to record that, they fail.
CREATE OR REPLACE FUNCTION carillon.end_cancelled(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    cancelled CONSTANT carillon.cancelled_job[] := ARRAY(SELECT carillon.as_cancelled(j) FROM unnest(jobs) AS j);
BEGIN
    PERFORM carillon.own_path();
    PERFORM carillon.record_cancelled(app, cancelled);
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) THEN
            RAISE;
        END IF;
        PERFORM carillon.fail_jobs(app, jobs, 'Unrecorded');
END
$$;
COMMENT ON FUNCTION carillon.end_cancelled IS 'Internal: ends jobs that were cancelled.';

-- No two have the same id.
CREATE OR REPLACE FUNCTION carillon.restore(app integer, jobs carillon.job[], cancelled bigint[], unsure bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    restored CONSTANT bigint := cardinality(jobs);
    ended carillon.job[];
    aside carillon.job[];
BEGIN
    IF cardinality(cancelled) > 0 THEN
        ended := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(cancelled)));
    END IF;
    IF cardinality(ended) > 0 THEN
        PERFORM carillon.end_cancelled(app, ended);
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) NOT IN (SELECT unnest(cancelled)));
    END IF;
    IF cardinality(unsure) > 0 THEN
        -- Promotion checks again in a second.
        aside := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(unsure)));
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) NOT IN (SELECT unnest(unsure)));
        PERFORM carillon.put_back(app, aside, array_fill(1000, ARRAY[cardinality(aside)])) WHERE cardinality(aside) > 0;
    END IF;
    PERFORM carillon.put_back(app, jobs);
    RETURN restored;
END
$$;
COMMENT ON FUNCTION carillon.restore IS
    'Internal: returns jobs to the queue, except those that were cancelled; returns how many there were.';

CREATE OR REPLACE FUNCTION carillon.release(worker bigint, claims bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target record;
    checked record;
    claim record;
    released bigint := 0;
BEGIN
    FOR target IN
        SELECT f.app_id, array_agg(f.id) AS claims FROM carillon.inflight f
        WHERE f.id = ANY (release.claims) AND f.worker_id = release.worker GROUP BY f.app_id ORDER BY f.app_id
    LOOP
        SELECT o.* INTO checked FROM (
            SELECT array_agg(coalesce(j.origin, j.id)) AS messages, array_agg(j.broadcast_id) AS broadcasts
            FROM carillon.inflight f, unnest(f.jobs) AS j
            WHERE f.app_id = target.app_id AND f.id = ANY (target.claims) AND f.worker_id = release.worker
        ) AS a, carillon.find_cancelled(target.app_id, a.messages, a.broadcasts, '{}') AS o;
        FOR claim IN
            DELETE FROM carillon.inflight f
            WHERE f.app_id = target.app_id AND f.id = ANY (target.claims) AND f.worker_id = release.worker
            RETURNING f.jobs
        LOOP
            released := released + carillon.restore(target.app_id, claim.jobs, checked.cancelled, checked.unsure);
        END LOOP;
    END LOOP;
    RETURN released;
END
$$;
COMMENT ON FUNCTION carillon.release IS 'Internal: releases claims of which nothing was sent; returns how many jobs they had.';
