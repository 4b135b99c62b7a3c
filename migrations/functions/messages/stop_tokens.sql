-- Takes the pushes to some tokens out of the queue: those of one person, for cancel() and forget(). A job may have a thousand
-- tokens of different people, and keeps the others.
--
-- take_waiting() takes all locks of cancel.sql that an app has, so that no job of the app leaves scheduled while it runs. A job can
-- then only move from messages to inflight to scheduled, and the function reads these tables in this order. A session that waits
-- for a row of inflight may hold rows of split_messages, so the function locks those before; and one that holds a row of inflight
-- may wait for rows of update_stamps and unfinished, so its callers lock those after.
--
-- While it waits for a lock, no job of the app leaves scheduled. So it and forget() do not wait long for a transaction that has
-- cancelled messages, requeued failures, registered a token or taken a dedupe key, and does not end.

CREATE OR REPLACE FUNCTION carillon.unnamed_job(job carillon.job) RETURNS carillon.job
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    job.reference := NULL;
    RETURN job;
END
$$;
COMMENT ON FUNCTION carillon.unnamed_job IS 'Internal: returns a job without its reference.';

CREATE OR REPLACE FUNCTION carillon.unnamed_jobs(jobs carillon.job[], stopped text[], owner text) RETURNS carillon.job[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN owner IS NULL THEN jobs ELSE ARRAY(
        SELECT CASE WHEN carillon.names_owner(j.reference, owner, stopped) THEN carillon.unnamed_job(j) ELSE j END
        FROM unnest(jobs) AS j) END
$$;
COMMENT ON FUNCTION carillon.unnamed_jobs IS 'Internal: returns jobs without the references that name an owner.';

-- mark_claims() returns how many pushes in flight are not sent again. The reference of a job that has no other recipient is the
-- person's, whatever it is; divide_jobs() does the same for jobs that wait.
CREATE OR REPLACE FUNCTION carillon.mark_claims(app integer, stopped text[], owner text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    claim record;
    named bigint[];
    pushes bigint := 0;
BEGIN
    FOR claim IN
        SELECT f.id, f.jobs, (SELECT count(*) FROM unnest(f.jobs) AS j, unnest(j.tokens) AS t(token)
            WHERE lower(t.token COLLATE "C") = ANY (stopped)) AS pushes
        FROM carillon.inflight f
        WHERE f.app_id = app AND EXISTS (
            SELECT FROM unnest(f.jobs) AS j WHERE carillon.names_owner(j.reference, owner, stopped) OR EXISTS (
                SELECT FROM unnest(j.tokens) AS t(token) WHERE lower(t.token COLLATE "C") = ANY (stopped)))
        ORDER BY f.id FOR UPDATE
    LOOP
        named := ARRAY(
            SELECT j.id FROM unnest(claim.jobs) AS j
            WHERE owner IS NOT NULL AND j.reference IS NOT NULL AND (carillon.names_owner(j.reference, owner, stopped)
                OR cardinality(j.tokens) > 0 AND NOT EXISTS (
                    SELECT FROM unnest(j.tokens) AS t(token) WHERE (lower(t.token COLLATE "C") = ANY (stopped)) IS NOT TRUE)));
        UPDATE carillon.inflight f SET
            stops = array_append(f.stops, ROW(stopped, ARRAY(SELECT coalesce(j.origin, j.id) FROM unnest(f.jobs) AS j
                WHERE j.id = ANY (named)), owner IS NOT NULL)::carillon.stop),
            jobs = ARRAY(SELECT CASE WHEN j.id = ANY (named) THEN carillon.unnamed_job(j) ELSE j END FROM unnest(f.jobs) AS j)
        WHERE f.app_id = app AND f.id = claim.id;
        pushes := pushes + claim.pushes;
    END LOOP;
    RETURN pushes;
END
$$;
COMMENT ON FUNCTION carillon.mark_claims IS 'Internal: keeps pushes in flight from being sent again, and from being recorded.';

-- take_waiting() takes pushes out of waiting jobs, and marks claims. Its caller passes `ended` and `begun` to record_stopped().
-- `owner` is the person whose references are erased; null if the tokens are not to be forgotten.
CREATE OR REPLACE FUNCTION carillon.take_waiting(
    app integer, stopped text[], owner text, OUT split bigint, OUT ready bigint, OUT scheduled bigint, OUT in_flight bigint,
    OUT ended carillon.job[], OUT begun carillon.ending[]
)
LANGUAGE plpgsql
SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan SET lock_timeout = '10s' AS $$
DECLARE
    forgotten CONSTANT text[] := CASE WHEN owner IS NULL THEN '{}' ELSE stopped END;
    found carillon.job[];
    rest carillon.job[];
    later carillon.job[];
    later_rest carillon.job[];
    later_ended carillon.job[];
    later_begun carillon.ending[];
BEGIN
    -- Each statement must see what other sessions have committed before it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'carillon.forget, and carillon.cancel by owner, need the isolation level READ COMMITTED'
            USING ERRCODE = 'feature_not_supported',
                HINT = 'At other levels, a transaction does not see jobs that workers move while it runs.';
    END IF;
    PERFORM FROM carillon.app_locks l WHERE l.app_id = app AND l.lock_number <= 64 ORDER BY l.lock_number FOR UPDATE;
    -- Waits for sessions that are returning jobs, as lock_for_cancel() does.
    LOCK TABLE carillon.cancelling IN ROW EXCLUSIVE MODE;
    -- The same for jobs of split messages: see find_cancelled().
    PERFORM FROM carillon.split_messages b WHERE b.app_id = app ORDER BY b.id FOR UPDATE;
    UPDATE carillon.split_messages b SET reference = NULL
    WHERE b.app_id = app AND carillon.names_owner(b.reference, owner, stopped);
    GET DIAGNOSTICS split = ROW_COUNT;
    -- All jobs of a broadcast may have the reference. Only jobs with the tokens are read.
    UPDATE carillon.messages m SET reference = NULL
    WHERE m.app_id = app AND carillon.names_owner(m.reference, owner, stopped) AND NOT EXISTS (
        SELECT FROM unnest(m.tokens) AS t(token) WHERE lower(t.token COLLATE "C") = ANY (stopped));
    GET DIAGNOSTICS ready = ROW_COUNT;
    SELECT coalesce(array_agg(carillon.ready_job(l.m)), '{}') INTO found FROM (
        SELECT m FROM carillon.messages m WHERE m.app_id = app AND EXISTS (
            SELECT FROM unnest(m.tokens) AS t(token) WHERE lower(t.token COLLATE "C") = ANY (stopped)) FOR UPDATE) AS l;
    in_flight := carillon.mark_claims(app, stopped, owner);
    UPDATE carillon.scheduled s SET reference = NULL
    WHERE s.app_id = app AND carillon.names_owner(s.reference, owner, stopped) AND NOT EXISTS (
        SELECT FROM unnest(s.tokens) AS t(token) WHERE lower(t.token COLLATE "C") = ANY (stopped));
    GET DIAGNOSTICS scheduled = ROW_COUNT;
    SELECT coalesce(array_agg(carillon.scheduled_job(l.s)), '{}') INTO later FROM (
        SELECT s FROM carillon.scheduled s WHERE s.app_id = app AND EXISTS (
            SELECT FROM unnest(s.tokens) AS t(token) WHERE lower(t.token COLLATE "C") = ANY (stopped)) FOR UPDATE) AS l;

    SELECT d.rest, d.ended, d.begun INTO rest, ended, begun
    FROM carillon.divide_jobs(carillon.unnamed_jobs(found, stopped, owner), stopped, forgotten) AS d;
    DELETE FROM carillon.messages m USING unnest(found) AS j
    WHERE m.app_id = app AND m.lane = j.lane AND m.id = j.id AND j.id NOT IN (SELECT r.id FROM unnest(rest) AS r);
    UPDATE carillon.messages m SET tokens = r.tokens, payloads = r.payloads, origin = r.origin, reference = r.reference
    FROM unnest(rest) AS r WHERE m.app_id = app AND m.lane = r.lane AND m.id = r.id;

    SELECT d.rest, d.ended, d.begun INTO later_rest, later_ended, later_begun
    FROM carillon.divide_jobs(carillon.unnamed_jobs(later, stopped, owner), stopped, forgotten) AS d;
    DELETE FROM carillon.scheduled s USING unnest(later) AS j
    WHERE s.app_id = app AND s.id = j.id AND j.id NOT IN (SELECT r.id FROM unnest(later_rest) AS r);
    UPDATE carillon.scheduled s SET tokens = r.tokens, payloads = r.payloads, origin = r.origin, reference = r.reference
    FROM unnest(later_rest) AS r WHERE s.app_id = app AND s.id = r.id;
    ready := ready + cardinality(found);
    scheduled := scheduled + cardinality(later);
    ended := ended || later_ended;
    begun := begun || later_begun;
END
$$;
COMMENT ON FUNCTION carillon.take_waiting IS
    'Internal: takes the pushes to some tokens of an app out of the queue; returns how many split messages and jobs changed, how '
    'many pushes are in flight, and what is to be recorded.';

CREATE OR REPLACE FUNCTION carillon.record_stopped(app integer, ended carillon.job[], begun carillon.ending[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF cardinality(ended) > 0 THEN
        PERFORM carillon.begin_stopped(app, ended, begun);
        PERFORM carillon.record_cancelled(app, ARRAY(SELECT carillon.as_cancelled(j) FROM unnest(ended) AS j),
            notifies => false);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.record_stopped IS 'Internal: records what take_waiting took out of the queue as cancelled.';
