-- Cancels jobs that no worker has claimed.
--
-- The functions for callers run as their owner, because an app may cancel messages but not delete rows of the queue. An id selects
-- the whole message that it belongs to, in the named app or in every app that the caller may use.
--
-- Every session takes its locks in the same order, which prevents deadlocks: apps by id, and within an app first rows of app_locks,
-- then cancelling, rows of split_messages, rows of messages and scheduled, and finally, in one sorted pass, rows of unfinished.
-- Workers skip rows of app_locks that are taken, and wait only for unfinished. A transaction that calls several of these functions
-- can break the order; cancel_messages cancels many messages in one call.
--
-- Workers see a cancel only after it commits. A job that returns to the queue before then must not be sent, so either the cancel
-- must see the job or the worker must see the cancel. A cancel therefore locks its messages, waits for sessions that are returning
-- jobs to the queue, and only then reads. A session that returns jobs makes later cancels wait until it commits, and delays jobs
-- that are being cancelled: see find_cancelled().
--
-- None of these locks can be held without rights on our tables. Every login that may connect can take advisory locks: with their
-- keys, it could keep retries from being sent. A message in flight has no row of its own, so an app has a fixed number of rows in
-- app_locks, which only functions of the owner lock, and each of its messages belongs to one of them. Locking a row writes no new
-- version of it, and takes no room in the lock table of the server, so a cancel may name any number of messages.

CREATE OR REPLACE FUNCTION carillon.lock_for_cancel(app integer, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM FROM carillon.app_locks l
    WHERE l.app_id = app AND l.lock_number = ANY (ARRAY(SELECT carillon.lock_number(i.id) FROM unnest(ids) AS i(id)))
    ORDER BY l.lock_number FOR UPDATE;
    -- Waits for sessions that are returning jobs and do not know of this cancel. Sessions that start later do.
    LOCK TABLE carillon.cancelling IN ROW EXCLUSIVE MODE;
END
$$;
COMMENT ON FUNCTION carillon.lock_for_cancel IS
    'Internal: takes the locks of a cancel and holds them until the transaction ends.';

-- 64 locks for each app: retries of other messages are delayed only if they share the lock of one that is being cancelled.
CREATE OR REPLACE FUNCTION carillon.lock_number(message bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (message & 63)::smallint
$$;
COMMENT ON FUNCTION carillon.lock_number IS 'Internal: returns the lock_number in app_locks of a message.';

-- delay_cancels() is for a transaction that returns jobs of these messages to the queue. It never waits.
CREATE OR REPLACE FUNCTION carillon.delay_cancels(app integer, messages bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        WITH locked AS MATERIALIZED (
            SELECT l.lock_number FROM carillon.app_locks l
            WHERE l.app_id = app AND l.lock_number = ANY (ARRAY(SELECT carillon.lock_number(m.id) FROM unnest(messages) AS m(id)))
            FOR SHARE SKIP LOCKED
        )
        SELECT m.id FROM unnest(messages) AS m(id) WHERE carillon.lock_number(m.id) NOT IN (SELECT h.lock_number FROM locked h)
    );
END
$$;
COMMENT ON FUNCTION carillon.delay_cancels IS
    'Internal: makes cancels of messages wait until this transaction ends; returns those that may already be being cancelled.';

-- Updates are pushes such as those to a Live Activity or a channel. The function has no SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.as_cancelled(job carillon.job) RETURNS carillon.cancelled_job
LANGUAGE sql IMMUTABLE AS $$
    SELECT (coalesce(job.origin, job.id), pg_catalog.cardinality(job.tokens), job.reference, job.broadcast_id, job.attempt,
        job.last_status, job.last_reason, job.created_at,
        CASE WHEN carillon.is_update(job.push_type) THEN job.tokens END)::carillon.cancelled_job
$$;
COMMENT ON FUNCTION carillon.as_cancelled IS 'Internal: returns what is needed to record a cancelled job.';

-- record_cancelled() keeps the search_path of its caller, and may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.record_cancelled(
    app_id integer, jobs carillon.cancelled_job[], notifies boolean DEFAULT true
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    message_ids CONSTANT bigint[] := ARRAY(SELECT DISTINCT g.message_id FROM pg_catalog.unnest(jobs) g);
BEGIN
    -- An update that is never sent must not supersede an older one.
    DELETE FROM carillon.updates u WHERE u.ctid = ANY (ARRAY(
        SELECT n.ctid
        FROM pg_catalog.unnest(jobs) AS g CROSS JOIN LATERAL pg_catalog.unnest(g.updates) AS t(token)
        JOIN carillon.updates n ON n.app_id = record_cancelled.app_id AND n.token = pg_catalog.lower(t.token)
            AND n.message_id = g.message_id
        ORDER BY n.token, n.message_id FOR UPDATE OF n SKIP LOCKED));
    -- In order of id, as settlements lock them.
    PERFORM FROM carillon.unfinished u WHERE u.app_id = record_cancelled.app_id AND u.message_id = ANY (message_ids)
    ORDER BY u.message_id FOR UPDATE;

    PERFORM carillon.end_messages(record_cancelled.app_id, ARRAY(
        SELECT carillon.ending(message_id => g.message_id, reference => pg_catalog.max(g.reference),
            broadcast_id => pg_catalog.max(g.broadcast_id), created_at => pg_catalog.min(g.created_at),
            attempts => CASE WHEN u.message_id IS NULL THEN pg_catalog.max(g.attempt) - 1 ELSE 0 END,
            cancelled => pg_catalog.sum(g.tokens)::integer, remaining => CASE WHEN u.message_id IS NOT NULL THEN 0 END,
            last_status => (pg_catalog.array_agg(g.last_status ORDER BY g.attempt DESC)
                FILTER (WHERE g.last_reason IS NOT NULL))[1],
            last_reason => (pg_catalog.array_agg(g.last_reason ORDER BY g.attempt DESC)
                FILTER (WHERE g.last_reason IS NOT NULL))[1])
        FROM pg_catalog.unnest(jobs) g
        LEFT JOIN carillon.unfinished u ON u.app_id = record_cancelled.app_id AND u.message_id = g.message_id
        GROUP BY g.message_id, u.message_id), notifies => notifies);
END
$$;
COMMENT ON FUNCTION carillon.record_cancelled IS
    'Internal: records jobs that were cancelled or superseded, in results or unfinished.';

-- remnants() reads inflight once for all the messages.
CREATE OR REPLACE FUNCTION carillon.remnants(app integer, message_ids bigint[], taken carillon.cancelled_job[])
RETURNS carillon.remnant[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN ARRAY(
        SELECT (coalesce(k.message_id, f.message_id), k.remaining, coalesce(f.tokens, 0))::carillon.remnant
        FROM (
            SELECT u.message_id, u.remaining - coalesce(t.tokens, 0) AS remaining FROM carillon.unfinished u
            LEFT JOIN (SELECT w.message_id, sum(w.tokens) AS tokens FROM unnest(taken) w GROUP BY w.message_id) t
                ON t.message_id = u.message_id
            WHERE u.app_id = remnants.app AND u.message_id = ANY (message_ids)
        ) k
        FULL JOIN (
            SELECT coalesce(j.origin, j.id) AS message_id, sum(cardinality(j.tokens)) AS tokens
            FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
            WHERE i.app_id = remnants.app AND coalesce(j.origin, j.id) = ANY (message_ids) GROUP BY 1
        ) f ON f.message_id = k.message_id
    );
END
$$;
COMMENT ON FUNCTION carillon.remnants IS 'Internal: returns what is left of messages whose jobs were taken out of the queue.';

-- Pushes in flight are not retried: a message in `alone` gets a row of cancelled, and a split message has cancelled_at in
-- split_messages. The caller records the jobs that were removed, because that locks rows of unfinished.
CREATE OR REPLACE FUNCTION carillon.remove_waiting_jobs(app integer, message_ids bigint[], alone bigint[])
RETURNS carillon.cancelled_job[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    lanes smallint[];
    taken carillon.cancelled_job[] := '{}';
    -- Messages that may have more jobs.
    unfinished_ids bigint[] := message_ids;
    removed_now carillon.cancelled_job[];
    rest carillon.remnant[];
    -- Messages with pushes in flight.
    in_flight_ids bigint[] := '{}';
    incomplete_ids bigint[];
    retries carillon.cancelled_job[];
BEGIN
    -- The second round finds jobs that moved from scheduled to messages during the first.
    FOR round IN 1..2 LOOP
        lanes := ARRAY(SELECT l.lane FROM carillon.filled_lanes(remove_waiting_jobs.app) l);
        WITH ready AS (
            DELETE FROM carillon.messages m
            WHERE m.app_id = remove_waiting_jobs.app AND m.lane = ANY (lanes) AND m.id = ANY (unfinished_ids)
            RETURNING carillon.as_cancelled(carillon.ready_job(m)) AS job
        ), later AS (
            DELETE FROM carillon.scheduled s
            WHERE s.app_id = remove_waiting_jobs.app AND (s.id = ANY (unfinished_ids) OR s.origin = ANY (unfinished_ids))
            RETURNING carillon.as_cancelled(carillon.scheduled_job(s)) AS job
        )
        SELECT array_agg(g.job) INTO removed_now FROM (TABLE ready UNION ALL TABLE later) g;
        taken := taken || removed_now;
        -- A message has ended if all its jobs were waiting.
        unfinished_ids := ARRAY(
            SELECT s.id FROM unnest(unfinished_ids) AS s(id)
            WHERE s.id NOT IN (SELECT t.message_id FROM unnest(removed_now) t) OR EXISTS (
                SELECT FROM carillon.unfinished u WHERE u.app_id = remove_waiting_jobs.app AND u.message_id = s.id));
        EXIT WHEN cardinality(unfinished_ids) = 0;
        rest := carillon.remnants(app, unfinished_ids, taken);
        in_flight_ids := in_flight_ids || ARRAY(SELECT r.message_id FROM unnest(rest) r WHERE r.in_flight > 0);
        retries := '{}';
        -- Retries that are due are rows of messages with ids of their own. No index finds them, because every INSERT would pay for
        -- it. The rows of the app are read only if jobs are missing.
        incomplete_ids := ARRAY(SELECT r.message_id FROM unnest(rest) r WHERE r.remaining > r.in_flight);
        IF cardinality(incomplete_ids) > 0 THEN
            WITH ready AS (
                DELETE FROM carillon.messages m WHERE m.app_id = remove_waiting_jobs.app AND m.origin = ANY (incomplete_ids)
                RETURNING carillon.as_cancelled(carillon.ready_job(m)) AS job
            )
            SELECT array_agg(g.job) INTO retries FROM ready g;
        END IF;
        taken := taken || retries;
    END LOOP;
    IF cardinality(unfinished_ids) > 0 THEN
        INSERT INTO carillon.cancelled AS c (app_id, message_id)
        SELECT remove_waiting_jobs.app, r.message_id FROM unnest(rest) r
        LEFT JOIN (SELECT t.message_id, sum(t.tokens) AS tokens FROM unnest(retries) t GROUP BY t.message_id) g
            ON g.message_id = r.message_id
        WHERE r.message_id = ANY (alone) AND r.remaining > coalesce(g.tokens, 0)
        UNION
        -- Some pushes may have returned meanwhile, and wait for a retry.
        SELECT remove_waiting_jobs.app, f.id FROM unnest(in_flight_ids) AS f(id)
        WHERE f.id = ANY (unfinished_ids) AND f.id = ANY (alone)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION carillon.remove_waiting_jobs IS 'Internal: removes the waiting jobs of messages from messages and scheduled.';

-- The rows of split_messages are locked, so jobs that return meanwhile go to scheduled.
CREATE OR REPLACE FUNCTION carillon.waiting_job_ids(app integer, split bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT p.id), '{}') FROM (
        SELECT m.id FROM carillon.split_messages b CROSS JOIN LATERAL (
            SELECT coalesce(m.origin, m.id) AS id FROM carillon.messages m
            WHERE m.app_id = b.app_id AND m.lane = ANY (carillon.lanes_beside(b.lane)) AND m.id BETWEEN b.id AND b.last_id
                AND m.broadcast_id = b.id) m
        WHERE b.app_id = waiting_job_ids.app AND b.id = ANY (split)
        UNION ALL
        SELECT coalesce(s.origin, s.id) FROM carillon.scheduled s
        WHERE s.app_id = waiting_job_ids.app AND s.broadcast_id = ANY (split)
        UNION ALL
        SELECT u.message_id FROM carillon.unfinished u
        WHERE u.app_id = waiting_job_ids.app AND u.broadcast_id = ANY (split)
    ) AS p
$$;
COMMENT ON FUNCTION carillon.waiting_job_ids IS 'Internal: the ids of waiting jobs of messages that were split.';

-- Pushes in flight are not retried: before returning a job to the queue, workers check cancelled and split_messages.cancelled_at.
CREATE OR REPLACE FUNCTION carillon.cancel_jobs(app integer, whole bigint[], split bigint[], message_id bigint DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    taken carillon.cancelled_job[];
BEGIN
    PERFORM carillon.lock_for_cancel(app, whole || split);
    PERFORM FROM carillon.split_messages b WHERE b.app_id = app AND b.id = ANY (split) ORDER BY b.id FOR UPDATE;
    UPDATE carillon.split_messages b SET cancelled_at = now()
    WHERE b.app_id = app AND b.id = ANY (split) AND b.cancelled_at IS NULL;
    taken := carillon.remove_waiting_jobs(app, whole || carillon.waiting_job_ids(app, split), whole);
    PERFORM carillon.record_cancelled(app, taken, notifies => false);
    PERFORM carillon.record_on_behalf('cancel', app, jsonb_build_object('message_id', message_id,
        'messages', cardinality(whole || split), 'jobs', cardinality(taken)));
    RETURN cardinality(taken);
END
$$;
COMMENT ON FUNCTION carillon.cancel_jobs IS 'Internal: cancels messages of an app: those of one job, and split ones.';

-- The ids of cancel_messages() may be in any order.
CREATE OR REPLACE FUNCTION carillon.cancel_messages(message_ids bigint[], app text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(cancel_messages.app);
    refusal carillon.refusal;
    target record;
    jobs integer := 0;
BEGIN
    IF cancel_messages.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(cancel_messages.app);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    FOR target IN
        SELECT f.app_id, coalesce(array_agg(DISTINCT f.message_id) FILTER (WHERE b.id IS NULL), '{}') AS whole,
            coalesce(array_agg(DISTINCT b.id) FILTER (WHERE b.id IS NOT NULL), '{}') AS split
        FROM carillon.messages_of(message_ids) f
        LEFT JOIN carillon.split_messages b ON b.app_id = f.app_id AND b.id = f.broadcast_id
        WHERE chosen IS NULL OR f.app_id = ANY (chosen) GROUP BY f.app_id ORDER BY f.app_id
    LOOP
        jobs := jobs + carillon.cancel_jobs(target.app_id, target.whole, target.split,
            CASE cardinality(message_ids) WHEN 1 THEN message_ids[1] END);
    END LOOP;
    RETURN jobs;
END
$$;
COMMENT ON FUNCTION carillon.cancel_messages IS
    'Cancels several messages, each as cancel does. A transaction that calls cancel several times can deadlock with another; one '
    'call of cancel_messages cannot. Returns the number of jobs cancelled.';

-- cancel() is plain SQL, so that the planner inlines it and error messages do not mention it.
CREATE OR REPLACE FUNCTION carillon.cancel(
    message_id bigint DEFAULT NULL, app text DEFAULT NULL, reference text DEFAULT NULL, owner text DEFAULT NULL
) RETURNS integer
LANGUAGE sql AS $$
    SELECT CASE WHEN reference IS NULL AND owner IS NULL THEN carillon.cancel_messages(ARRAY[message_id], app)
        ELSE carillon.cancel_found(message_id, app, reference, owner) END
$$;
COMMENT ON FUNCTION carillon.cancel IS
    'Cancels what is not sent yet: a message, given the id of any of its jobs; all messages with a reference; or the pushes to the '
    'tokens of an owner, and not those to other tokens of the same messages. Pushes in flight are not retried. Returns the number '
    'of jobs cancelled, at least in part: 0 if nothing that matches waits.';

CREATE OR REPLACE FUNCTION carillon.cancel_broadcast(id bigint, app text DEFAULT NULL) RETURNS integer
LANGUAGE sql AS $$
    SELECT carillon.cancel_messages(ARRAY[id], app)
$$;
COMMENT ON FUNCTION carillon.cancel_broadcast IS
    'Another name of cancel, for the id that broadcast returned. Returns the number of jobs cancelled.';

CREATE OR REPLACE FUNCTION carillon.cancel_message(id bigint, app text, on_behalf_of text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.act_for(on_behalf_of);
    RETURN carillon.cancel(cancel_message.id, app => cancel_message.app);
END
$$;
COMMENT ON FUNCTION carillon.cancel_message IS
    'Cancels a message of one app, as cancel does, for a dashboard: audit records the person on whose behalf it acts. Returns the '
    'number of jobs cancelled.';
