-- Paces the background pushes of apps with max_per_device. Each push has one slot: the time at which it was or will be sent. So no
-- hour has more than the limit, except for pushes that are sent twice because their outcome is unknown.
--
-- A worker calls pace_devices() for the background pushes of each claim before it sends them. It locks the row of inflight, then
-- rows of device_slots in the order of tokens, and skips rows of scheduled that are locked. lock_waiting_jobs() and
-- pace_push() run once for each push, and pin no search_path, because that would slow them.

-- lock_waiting_jobs() locks the rows of scheduled in which pushes of a message to one of these tokens wait, except for jobs in
-- `claimed_ids`. Rows that others have locked are skipped: their pushes are paced when they arrive.
CREATE OR REPLACE FUNCTION carillon.lock_waiting_jobs(app integer, message bigint, tokens text[], claimed_ids bigint[])
RETURNS SETOF tid
LANGUAGE plpgsql ROWS 1 AS $$
BEGIN
    -- Two scans of an index: an OR of their conditions would read all jobs of the app.
    RETURN QUERY SELECT s.ctid FROM carillon.scheduled s
    WHERE s.ctid = ANY (ARRAY(
            SELECT k.ctid FROM carillon.scheduled k WHERE k.app_id = app AND k.id = message
            UNION ALL
            SELECT k.ctid FROM carillon.scheduled k WHERE k.app_id = app AND k.origin = message))
        AND s.id <> ALL (claimed_ids) AND (lock_waiting_jobs.tokens[1] = ANY (s.tokens)
            OR EXISTS (SELECT FROM unnest(s.tokens) AS u(token)
                WHERE pg_catalog.lower(u.token) IN (SELECT unnest(lock_waiting_jobs.tokens))))
    FOR UPDATE SKIP LOCKED;
END
$$;
COMMENT ON FUNCTION carillon.lock_waiting_jobs IS 'Internal: locks the rows of scheduled in which background pushes wait.';

-- pace_push() decides one push and notes its slot. The push is sent if its token had fewer than `max_per_device` within the hour.
-- If not, it waits. If an older push with the same meaning waits, it replaces that push and takes its slot. If a newer one waits,
-- the push is superseded. A push that returns for another attempt keeps its one slot, which moves to the present time.
CREATE OR REPLACE FUNCTION carillon.pace_push(
    app integer, token text, message bigint, meaning bigint, max_per_device integer, clock timestamptz, claimed_ids bigint[],
    OUT decision text, OUT slot_at timestamptz, OUT replaces bigint
)
LANGUAGE plpgsql STRICT AS $$
DECLARE
    others carillon.device_slot[];
    had_slot boolean;
    taken pg_catalog.timestamptz[];
    waiting carillon.device_slot;
    latest pg_catalog.timestamptz;
    present pg_catalog.timestamptz := clock;
BEGIN
    -- A row may contain any time, and arithmetic with infinity fails.
    SELECT ARRAY(SELECT s FROM unnest(d.slots) AS s WHERE s.at > clock - interval '1 hour' AND s.at < '2200-01-01 00:00+00'
            AND s.message_id <> message),
        message IN (SELECT s.message_id FROM unnest(d.slots) AS s), d.last_at
    INTO others, had_slot, latest FROM carillon.device_slots d WHERE d.app_id = app AND d.token = pace_push.token FOR UPDATE;
    -- Another worker may have sent a push since this call began: then its slot is no longer in the future.
    IF latest > clock THEN
        present := greatest(clock, pg_catalog.clock_timestamp());
    END IF;
    -- A push that has had a slot goes ahead of pushes whose slots are in the future.
    taken := ARRAY(SELECT o.at FROM unnest(others) AS o WHERE o.at <= present OR NOT had_slot ORDER BY o.at);
    IF pg_catalog.cardinality(taken) < max_per_device THEN
        decision := 'send';
        slot_at := clock;
    ELSE
        decision := 'later';
        slot_at := clock + interval '1 minute'
            * pg_catalog.ceil(
                extract(epoch FROM taken[pg_catalog.cardinality(taken) - max_per_device + 1] + interval '1 hour' - clock) / 60);
        SELECT o.* INTO waiting FROM unnest(others) AS o WHERE o.meaning = pace_push.meaning AND o.at > present
        ORDER BY o.message_id DESC LIMIT 1;
        IF waiting.message_id > message THEN
            PERFORM carillon.lock_waiting_jobs(app, waiting.message_id, ARRAY[token], claimed_ids);
            decision := CASE WHEN FOUND THEN 'superseded' ELSE 'later' END;
        END IF;
        IF decision = 'later' AND waiting.message_id IS NOT NULL THEN
            slot_at := waiting.at;
            replaces := CASE WHEN waiting.message_id < message THEN waiting.message_id END;
            others := ARRAY(SELECT o FROM unnest(others) AS o WHERE o.message_id <> waiting.message_id);
        END IF;
    END IF;
    UPDATE carillon.device_slots d SET last_at = greatest(d.last_at, slot_at), slots = CASE WHEN decision = 'superseded' THEN others
        ELSE others || ROW(slot_at, message, meaning)::carillon.device_slot END
    WHERE d.app_id = app AND d.token = pace_push.token;
END
$$;
COMMENT ON FUNCTION carillon.pace_push IS
    'Internal: decides whether a background push is sent, waits for its slot or is superseded, and notes its slot.';

-- apply_pace() takes pushes out of the claim that are not sent now, and pushes that they replace out of scheduled.
CREATE OR REPLACE FUNCTION carillon.apply_pace(
    app integer, claim bigint, claimed_jobs carillon.job[], paced carillon.paced_push[], clock timestamptz
) RETURNS carillon.push_decisions
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    replaced CONSTANT tid[] := ARRAY(
        SELECT carillon.lock_waiting_jobs(app, r.message, r.tokens, ARRAY(SELECT h.id FROM unnest(claimed_jobs) AS h)) FROM (
            SELECT p.replaces AS message, array_agg(p.token) AS tokens FROM unnest(paced) AS p
            WHERE p.replaces IS NOT NULL GROUP BY p.replaces) AS r);
    waiting carillon.scheduled[];
    leaving record;
    answer carillon.push_decisions;
BEGIN
    WITH taken AS (DELETE FROM carillon.scheduled s WHERE s.ctid = ANY (replaced) RETURNING s)
    SELECT array_agg(t.s) INTO waiting FROM taken t;
    SELECT array_agg(l.job) AS jobs, array_agg(l.token) AS tokens, array_agg(l.wait) AS waits,
        count(*) FILTER (WHERE l.wait IS NULL) AS superseded INTO leaving
    FROM (
        -- Whole minutes, rounded up: no push comes before its slot, and most pushes of a job wait together.
        SELECT p.job, p.token, CASE p.decision
            WHEN 'later' THEN least(86400000, ceil(extract(epoch FROM p.slot_at - clock) / 60) * 60000)::integer END AS wait
        FROM unnest(paced) AS p WHERE p.decision <> 'send'
        UNION ALL
        SELECT w.id, u.token, CASE WHEN (coalesce(w.origin, w.id), lower(u.token)) NOT IN (
                SELECT p.replaces, p.token FROM unnest(paced) AS p WHERE p.replaces IS NOT NULL)
            THEN greatest(0, ceil(extract(epoch FROM w.run_at - clock) * 1000))::integer END
        FROM unnest(waiting) AS w, unnest(w.tokens) AS u(token)
    ) AS l;
    IF leaving.jobs IS NOT NULL THEN
        PERFORM carillon.withdraw(app, claim, claimed_jobs || ARRAY(SELECT carillon.scheduled_job(w) FROM unnest(waiting) AS w),
            leaving.jobs, leaving.tokens, leaving.waits);
    END IF;
    answer.decisions := ARRAY(SELECT p.decision FROM unnest(paced) AS p ORDER BY p.place);
    answer.superseded := leaving.superseded;
    RETURN answer;
END
$$;
COMMENT ON FUNCTION carillon.apply_pace IS 'Internal: applies what pace_push() has decided about the pushes of a claim.';

-- Pushes have the same meaning if they have the same topic and collapse id or, without a collapse id, the same payload. The
-- function returns null if another worker has taken over the claim.
CREATE OR REPLACE FUNCTION carillon.pace_devices(
    app integer, claim bigint, worker bigint, claimed timestamptz, job bigint[], token text[], max_per_device integer
) RETURNS carillon.push_decisions
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    claimed_jobs carillon.job[];
    claimed_ids bigint[];
    stops carillon.stop[];
    paced carillon.paced_push[];
BEGIN
    SELECT f.jobs, ARRAY(SELECT h.id FROM unnest(f.jobs) AS h), f.stops INTO claimed_jobs, claimed_ids, stops
    FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO carillon.device_slots (app_id, token, slots, last_at)
    SELECT app, t.token, '{}', clock FROM (SELECT DISTINCT lower(u.token) AS token FROM unnest(pace_devices.token) AS u(token)) AS t
    WHERE stops IS NULL OR t.token <> ALL (carillon.stopped_tokens(stops)) ORDER BY t.token ON CONFLICT DO NOTHING;
    WITH asked AS MATERIALIZED (
        SELECT w.place, w.job, lower(w.token) AS token, coalesce(j.origin, j.id) AS message, hashtextextended(
            concat_ws(E'\n', j.topic, coalesce('id ' || nullif(j.collapse_id, ''), 'payload '
                || coalesce(j.payload, (carillon.payloads_of(j, ARRAY[w.token]))[1])::text)), 0) AS meaning
        FROM unnest(pace_devices.job, pace_devices.token) WITH ORDINALITY AS w(job, token, place)
        LEFT JOIN (SELECT DISTINCT h.id, lower(u.token) AS token FROM unnest(claimed_jobs) AS h, unnest(h.tokens) AS u(token)) AS t
            ON t.id = w.job AND t.token = lower(w.token)
                AND (stops IS NULL OR t.token <> ALL (carillon.stopped_tokens(stops)))
        LEFT JOIN unnest(claimed_jobs) AS j ON j.id = t.id
        ORDER BY lower(w.token), coalesce(j.origin, j.id), w.place
    ), decided AS (
        -- pace_push() is not called for a push that has left the claim or was stopped since, because it has no message. Such a
        -- push counts as superseded: nothing is left to be sent.
        SELECT a.place, a.job, a.token, a.message, p.*, array_agg(p.replaces) OVER (PARTITION BY a.token) AS replaced
        FROM asked a
        CROSS JOIN LATERAL carillon.pace_push(app, a.token, a.message, a.meaning, max_per_device, clock, claimed_ids) AS p
    )
    SELECT array_agg(ROW(d.place, d.job, d.token, CASE WHEN d.decision = 'later' AND d.message = ANY (d.replaced) THEN 'superseded'
        ELSE coalesce(d.decision, 'superseded') END, d.slot_at, d.replaces)::carillon.paced_push)
    INTO paced FROM decided d;
    RETURN carillon.apply_pace(app, claim, claimed_jobs, paced, clock);
END
$$;
COMMENT ON FUNCTION carillon.pace_devices IS
    'Internal: paces the background pushes of a claim, limiting each token to a number of pushes within any hour.';
