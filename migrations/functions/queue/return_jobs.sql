-- Returns jobs to the queue: retries that are due, unsent claims, and claims of dead workers. The caller has deleted the jobs from
-- their tables, and knows from find_cancelled() which were cancelled meanwhile: once for each app, so that rows of unfinished are
-- locked in one pass, in order of id.

-- If rows were inserted with ids ahead of the sequence, the sequence skips ids, twice as many each time, so that any number of such
-- rows takes only a few rounds. It cannot continue after the highest id, which may be the highest possible.
CREATE OR REPLACE FUNCTION carillon.unused_job_ids(app integer, jobs carillon.job[]) RETURNS bigint[]
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
COMMENT ON FUNCTION carillon.unused_job_ids IS 'Internal: returns unused ids for jobs of an app.';

-- renumber_jobs() keeps results and apns-ids those of the message.
CREATE OR REPLACE FUNCTION carillon.renumber_jobs(app integer, jobs carillon.job[]) RETURNS carillon.job[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    INSERT INTO carillon.unfinished AS u (message_id, app_id, reference, broadcast_id, remaining, attempts, created_at)
    SELECT j.id, renumber_jobs.app, j.reference, j.broadcast_id, carillon.count_tokens(j.tokens), j.attempt - 1,
        coalesce(j.created_at, now())
    FROM unnest(jobs) AS j WHERE j.origin IS NULL ORDER BY j.id
    ON CONFLICT (app_id, message_id) DO UPDATE SET remaining = u.remaining + excluded.remaining;
    RETURN ARRAY(
        SELECT carillon.changed_job(j.job, id => n.id, origin => coalesce((j.job).origin, (j.job).id))
        FROM (SELECT u AS job, row_number() OVER () AS place FROM unnest(jobs) AS u) AS j
        JOIN unnest(carillon.unused_job_ids(app, jobs)) WITH ORDINALITY AS n(id, place) ON n.place = j.place);
END
$$;
COMMENT ON FUNCTION carillon.renumber_jobs IS 'Internal: gives jobs new ids because rows with their ids were inserted.';

-- The jobs passed to insert_jobs() have distinct ids. A job that PostgreSQL refuses fails, so that it does not block the others. An
-- id that is not returned was in use. With `is_new` no id was in use, so a trigger has suppressed the rows that are missing.
--
-- The fields of a job are spelled out here, in split_job() and in the claim: reading a field of a composite value costs less than
-- calling a function that makes a row of it. `make docs` writes these lists, but for that of split_job(), of which JobFieldTests
-- notices a field that is missing.
CREATE OR REPLACE FUNCTION carillon.insert_jobs(app integer, jobs carillon.job[], waits integer[], is_new boolean) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(jobs) / 2;
    inserted bigint[] := '{}';
    refused carillon.job[];
    context text;
BEGIN
    BEGIN
        -- use_session_path(), the second form.
        PERFORM set_config('search_path', NULL, true);
        IF waits IS NULL THEN
            WITH put AS (
                INSERT INTO carillon.messages (app_id,
                    id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference,
                    on_unknown, attempt, lost_claims, origin, broadcast_id, created_at, last_status, last_reason,
                    unknown_attempts)
                SELECT insert_jobs.app,
                    j.id, j.lane, j.tokens, j.payload, j.payloads, j.push_type, j.priority, j.expires_at, j.collapse_id,
                    j.topic, j.reference, j.on_unknown, j.attempt, j.lost_claims, j.origin, j.broadcast_id, j.created_at,
                    j.last_status, j.last_reason, coalesce(j.unknown_attempts, 0::smallint)
                FROM pg_catalog.unnest(jobs) AS j
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO inserted FROM put p;
        ELSE
            WITH put AS (
                INSERT INTO carillon.scheduled (app_id, run_at,
                    id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference,
                    on_unknown, attempt, lost_claims, origin, broadcast_id, created_at, last_status, last_reason,
                    unknown_attempts)
                SELECT insert_jobs.app, pg_catalog.now() + pg_catalog.float8(waits[j.ordinality]) * interval '1 millisecond',
                    j.id, j.lane, j.tokens, j.payload, j.payloads, j.push_type, j.priority, j.expires_at, j.collapse_id,
                    j.topic, j.reference, j.on_unknown, j.attempt, j.lost_claims, j.origin, j.broadcast_id, j.created_at,
                    j.last_status, j.last_reason, coalesce(j.unknown_attempts, 0::smallint)
                FROM pg_catalog.unnest(jobs) WITH ORDINALITY AS j
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO inserted FROM put p;
        END IF;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, carillon, pg_temp', true);
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            IF half = 0 THEN
                PERFORM carillon.fail_jobs(app, jobs, 'Unqueued');
                RETURN ARRAY[jobs[1].id];
            END IF;
            -- One of the jobs is at fault; halving the list finds it.
            RETURN carillon.insert_jobs(app, jobs[:half], waits[:half], is_new)
                || carillon.insert_jobs(app, jobs[half + 1:], waits[half + 1:], is_new);
    END;
    IF is_new AND cardinality(inserted) < cardinality(jobs) THEN
        refused := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.id <> ALL (inserted) AND CASE WHEN waits IS NULL
            THEN NOT EXISTS (SELECT FROM carillon.messages m WHERE m.app_id = app AND m.lane = j.lane AND m.id = j.id)
            ELSE NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = app AND s.id = j.id) END);
        IF cardinality(refused) > 0 THEN
            PERFORM carillon.fail_jobs(app, refused, 'Unqueued');
            inserted := inserted || ARRAY(SELECT r.id FROM unnest(refused) AS r);
        END IF;
    END IF;
    RETURN inserted;
END
$$;
COMMENT ON FUNCTION carillon.insert_jobs IS
    'Internal: stores jobs in messages or, with waits in milliseconds, in scheduled; returns the ids of jobs that were stored '
    'or failed.';

-- The jobs passed to return_jobs() have distinct ids. A job whose id is in use gets a new one. It pins no search_path, because that
-- would slow each call: its names have schemas, as after use_session_path().
CREATE OR REPLACE FUNCTION carillon.return_jobs(app integer, jobs carillon.job[], waits integer[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    is_new boolean := false;
    inserted bigint[];
BEGIN
    LOOP
        inserted := carillon.insert_jobs(app, jobs, waits, is_new);
        EXIT WHEN pg_catalog.cardinality(inserted) >= pg_catalog.cardinality(jobs);
        IF waits IS NOT NULL THEN
            SELECT pg_catalog.array_agg(waits[j.ordinality] ORDER BY j.ordinality) INTO waits
            FROM pg_catalog.unnest(jobs) WITH ORDINALITY AS j WHERE j.id <> ALL (inserted);
        END IF;
        jobs := carillon.renumber_jobs(app, ARRAY(SELECT j FROM pg_catalog.unnest(jobs) AS j WHERE j.id <> ALL (inserted)));
        is_new := true;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.return_jobs IS 'Internal: returns jobs to messages or, with waits in milliseconds, to scheduled.';

-- Results count superseded pushes as cancelled too. If PostgreSQL refuses to record the jobs of end_as_cancelled(), they fail.
CREATE OR REPLACE FUNCTION carillon.end_as_cancelled(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    cancelled CONSTANT carillon.cancelled_job[] := ARRAY(SELECT carillon.as_cancelled(j) FROM unnest(jobs) AS j);
    context text;
BEGIN
    PERFORM carillon.use_session_path();
    -- withdraw() gives them this reason.
    PERFORM carillon.note_jobs(app, 'superseded', ARRAY(
        SELECT j FROM pg_catalog.unnest(jobs) AS j WHERE j.last_reason = 'Superseded'), NULL);
    PERFORM carillon.record_cancelled(app, cancelled);
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
        IF NOT carillon.is_refusal(SQLSTATE, context) THEN
            RAISE;
        END IF;
        PERFORM carillon.fail_jobs(app, jobs, 'Unrecorded');
END
$$;
COMMENT ON FUNCTION carillon.end_as_cancelled IS
    'Internal: ends jobs that are not sent, because they were cancelled or superseded.';

-- The jobs passed to return_uncancelled() have distinct ids.
CREATE OR REPLACE FUNCTION carillon.return_uncancelled(app integer, jobs carillon.job[], cancelled bigint[], unsure bigint[])
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    ended carillon.job[];
    aside carillon.job[];
BEGIN
    IF cardinality(cancelled) > 0 THEN
        ended := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(cancelled)));
    END IF;
    IF cardinality(ended) > 0 THEN
        PERFORM carillon.end_as_cancelled(app, ended);
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) NOT IN (SELECT unnest(cancelled)));
    END IF;
    IF cardinality(unsure) > 0 THEN
        -- promote() checks them again in a second.
        aside := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(unsure)));
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) NOT IN (SELECT unnest(unsure)));
        PERFORM carillon.return_jobs(app, aside, array_fill(1000, ARRAY[cardinality(aside)])) WHERE cardinality(aside) > 0;
    END IF;
    PERFORM carillon.return_jobs(app, jobs);
END
$$;
COMMENT ON FUNCTION carillon.return_uncancelled IS 'Internal: returns jobs to the queue, except those that were cancelled.';
