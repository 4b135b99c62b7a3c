-- Takeover of dead workers, and quarantine. A worker calls take_over() when another one's lease has ended. It waits for no row
-- lock: locked rows are left to the next call. The claim statement of the worker reads the limits of quarantine.

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.quarantine_from() RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 3::smallint $$;
COMMENT ON FUNCTION carillon.quarantine_from IS
    'Internal: returns the number of lost claims from which a job is in quarantine.';

-- quarantine_size() is 500 after three lost claims, and half as much after each further one: 250, 125, 62, 31, 15, 7, 3, and 1 from
-- the eleventh on. The counts 12 and 13 mean that one or two workers have died while it was their only quarantined push.
CREATE OR REPLACE FUNCTION carillon.quarantine_size(lost_claims integer) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(1, 1000 >> (least(lost_claims, 12) - 2)) $$;
COMMENT ON FUNCTION carillon.quarantine_size IS
    'Internal: returns how many pushes of jobs with this many lost claims may be in flight together.';

-- `together` is the number of quarantined pushes in flight, including this job's. lost_claims_after_death() raises the count far
-- enough that the next size is at most half of `together`.
CREATE OR REPLACE FUNCTION carillon.lost_claims_after_death(lost_claims smallint, together bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
    SELECT least(32767, CASE
        WHEN lost_claims < carillon.quarantine_from() - 1 THEN lost_claims + 1
        WHEN lost_claims >= carillon.quarantine_from() AND together = 1 THEN greatest(lost_claims + 1, 12)
        ELSE greatest(lost_claims + 1, (
            SELECT pg_catalog.min(c) FROM pg_catalog.generate_series(carillon.quarantine_from(), 11) c
            WHERE carillon.quarantine_size(c) <= greatest(1, together / 2)))
    END)::smallint
$$;
COMMENT ON FUNCTION carillon.lost_claims_after_death IS
    'Internal: returns the number of lost claims of a job after another worker has died with it.';

-- In return_lost_jobs(), jobs with on_unknown 'fail' fail instead of returning, because their outcome is unknown.
--
-- A job that was in flight when three workers died is quarantined: each of its tokens becomes a job, and only a few are in flight
-- together. Each time a worker dies with some of them, at most half as many are in flight together the next time. A settlement
-- clears the jobs that it records. A push fails as Poison after two workers have died while it was the only quarantined push that
-- the worker had. They may have had any number of other pushes, and may have died for another reason.
CREATE OR REPLACE FUNCTION carillon.return_lost_jobs(app integer, jobs carillon.job[], cancelled bigint[], unsure bigint[])
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    quarantine CONSTANT smallint := carillon.quarantine_from();
    poison CONSTANT smallint := 13;
    -- Pushes that enter quarantine now, and pushes that were in it before.
    fresh bigint;
    quarantined bigint;
    chosen carillon.job[] := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.on_unknown = 'fail');
BEGIN
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.fail_jobs(app, chosen, 'OutcomeUnknown');
    END IF;
    SELECT sum(cardinality(j.tokens)) FILTER (WHERE j.lost_claims = quarantine - 1),
        sum(cardinality(j.tokens)) FILTER (WHERE j.lost_claims >= quarantine)
    INTO fresh, quarantined FROM unnest(jobs) AS j;
    jobs := ARRAY(
        SELECT carillon.changed_job(j, lost_claims => carillon.lost_claims_after_death(j.lost_claims,
            CASE WHEN j.lost_claims < quarantine THEN fresh ELSE quarantined END))
        FROM unnest(jobs) AS j WHERE j.on_unknown <> 'fail');
    chosen := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims >= poison AND cardinality(j.tokens) = 1);
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.fail_jobs(app, chosen, 'Poison');
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims < poison OR cardinality(j.tokens) <> 1);
    END IF;
    chosen := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims >= quarantine AND cardinality(j.tokens) > 1
        AND coalesce(j.origin, j.id) NOT IN (SELECT unnest(cancelled || unsure)));
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.split_job(app, j, 1) FROM unnest(chosen) AS j;
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims < quarantine OR cardinality(j.tokens) <= 1
            OR coalesce(j.origin, j.id) IN (SELECT unnest(cancelled || unsure)));
    END IF;
    -- An app may have several jobs with the same id: they are stored one after the other.
    PERFORM carillon.return_uncancelled(app, t.jobs, cancelled, unsure) FROM (
        SELECT array_agg(n.job) AS jobs
        FROM (SELECT j AS job, row_number() OVER (PARTITION BY j.id) AS place FROM unnest(jobs) AS j) AS n
        GROUP BY n.place ORDER BY n.place) AS t;
END
$$;
COMMENT ON FUNCTION carillon.return_lost_jobs IS
    'Internal: returns the jobs of a dead worker to the queue, each with one more lost claim.';

-- gone_workers() is a loose index scan from worker to worker.
CREATE OR REPLACE FUNCTION carillon.gone_workers() RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE holder AS (
        (SELECT f.worker_id AS id FROM carillon.inflight f ORDER BY f.worker_id LIMIT 1)
        UNION ALL
        SELECT n.id FROM holder h, LATERAL (
            SELECT f.worker_id AS id FROM carillon.inflight f WHERE f.worker_id > h.id ORDER BY f.worker_id LIMIT 1) AS n
    )
    SELECT h.id FROM holder h WHERE NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = h.id)
$$;
COMMENT ON FUNCTION carillon.gone_workers IS 'Internal: returns the workers that have claims but no row of workers.';

-- A worker is dead if its heartbeat count still equals `beat` after the caller's monotonic clock has measured a lease. Its jobs
-- return to the queue, and so do those of every worker without a row of workers; without `beat`, only the latter. Its holds are
-- deleted.
--
-- take_over() never waits for a row lock. A worker whose row is locked may be renewing its lease, so it is left alone. A claim that
-- contains a message whose row of unfinished is locked is left to the next call.
CREATE OR REPLACE FUNCTION carillon.take_over(
    dead bigint, beat bigint DEFAULT NULL, OUT workers integer, OUT claims integer, OUT jobs bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    gone bigint[];
    target integer;
    lost bigint[];
    messages bigint[];
    broadcasts bigint[];
    busy bigint[];
    checked record;
    batch record;
BEGIN
    workers := 0;
    claims := 0;
    jobs := 0;
    IF beat IS NOT NULL THEN
        -- Waiting for a lock on the table would block heartbeats.
        LOCK TABLE carillon.workers IN ROW EXCLUSIVE MODE NOWAIT;
        -- The beat is checked again under the row lock, in case a heartbeat came first.
        DELETE FROM carillon.workers w WHERE w.id = ANY (ARRAY(
            SELECT d.id FROM carillon.workers d WHERE d.id = take_over.dead AND d.beat = take_over.beat
            FOR UPDATE SKIP LOCKED));
        GET DIAGNOSTICS workers = ROW_COUNT;
        IF workers > 0 THEN
            DELETE FROM carillon.holds h WHERE h.app_id = ANY (ARRAY(
                SELECT o.app_id FROM carillon.holds o WHERE o.worker_id = take_over.dead FOR UPDATE SKIP LOCKED));
        END IF;
    END IF;
    gone := ARRAY(SELECT o.id FROM carillon.gone_workers() AS o(id));
    FOR target IN SELECT DISTINCT f.app_id FROM carillon.inflight f WHERE f.worker_id = ANY (gone) ORDER BY f.app_id LOOP
        lost := ARRAY(
            SELECT f.id FROM carillon.inflight f WHERE f.app_id = target AND f.worker_id = ANY (gone)
            ORDER BY f.id FOR UPDATE SKIP LOCKED);
        CONTINUE WHEN cardinality(lost) = 0;
        messages := ARRAY(
            SELECT DISTINCT coalesce(j.origin, j.id) FROM carillon.inflight f, unnest(f.jobs) AS j
            WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost));
        busy := carillon.lock_unfinished(target, messages);
        IF cardinality(busy) > 0 THEN
            lost := ARRAY(
                SELECT f.id FROM carillon.inflight f
                WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost) AND NOT EXISTS (
                    SELECT FROM unnest(f.jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(busy))));
        END IF;
        SELECT array_agg(coalesce(j.origin, j.id)), array_agg(j.broadcast_id) INTO messages, broadcasts
        FROM carillon.inflight f, unnest(f.jobs) AS j
        WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost);
        SELECT o.* INTO checked FROM carillon.find_cancelled(target, messages, broadcasts, '{}') AS o;
        INSERT INTO carillon.unknown_outcomes (app_id, message_id) SELECT DISTINCT target, m.id FROM unnest(messages) AS m(id);
        claims := claims + cardinality(lost);
        PERFORM carillon.drop_stopped(target, lost);
        -- All jobs of a worker together, up to the size of an array.
        FOR batch IN
            WITH taken AS (
                DELETE FROM carillon.inflight f
                WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost)
                RETURNING f.id, f.worker_id, f.jobs
            ), sized AS (
                SELECT t.worker_id, t.jobs,
                    sum(pg_column_size(t.jobs)) OVER (PARTITION BY t.worker_id ORDER BY t.id) / 16777216 AS heap
                FROM taken t
            )
            SELECT array_agg(j) AS jobs FROM sized s, unnest(s.jobs) AS j GROUP BY s.worker_id, s.heap
        LOOP
            jobs := jobs + cardinality(batch.jobs);
            PERFORM carillon.return_lost_jobs(target, batch.jobs, checked.cancelled, checked.unsure);
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.take_over IS 'Internal: takes over from a dead worker, and from workers without a row of workers.';
