-- pace_devices() returns for each push 0 if it can be sent, -1 if it waits in scheduled for its slot, and null if it is superseded
-- because a newer push with the same meaning waits. One more element follows: the number of waiting pushes that were superseded.
-- Returns null instead of an array if another worker has taken over the claim.
--
-- Pushes have the same meaning if they have the same topic and collapse id or, without a collapse id, the same payload. A push that
-- returns for another attempt keeps its one slot, which moves to the present time. So no hour has more than the limit, except for
-- pushes that are sent twice because their outcome is unknown.
--
-- All workers lock tokens in order. Rows of scheduled that others have locked are skipped; their pushes are paced when they arrive.
CREATE OR REPLACE FUNCTION carillon.pace_devices(
    app integer, claim bigint, worker bigint, claimed timestamptz, job bigint[], token text[], most integer
) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    span CONSTANT interval := interval '1 hour';
    step CONSTANT interval := interval '1 minute';
    pushes CONSTANT integer := cardinality(pace_devices.job);
    held carillon.job[];
    pulled carillon.job[] := '{}';  -- jobs taken from scheduled because one of their pushes is superseded
    pulled_until timestamptz[] := '{}';
    verdicts bigint[] := array_fill(NULL::bigint, ARRAY[pushes]);
    waits integer[] := array_fill(NULL::integer, ARRAY[pushes]);
    messages bigint[] := array_fill(NULL::bigint, ARRAY[pushes]);
    replaced text[] := '{}';  -- job id and token of each superseded push
    known carillon.device_slot[];
    taken timestamptz[];
    own timestamptz;
    slot_at timestamptz;
    push record;
    waiting record;
    found_job carillon.scheduled;
    other bigint;
    source integer;
    leaving record;
BEGIN
    SELECT f.jobs INTO held FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO carillon.device_slots (app_id, token, slots, last_at)
    SELECT app, t.token, '{}', clock FROM (SELECT DISTINCT lower(u.token) AS token FROM unnest(pace_devices.token) AS u(token)) AS t
    ORDER BY t.token ON CONFLICT DO NOTHING;
    FOR push IN
        SELECT w.place, coalesce(j.origin, j.id) AS message, lower(w.token) AS token, hashtextextended(
            concat_ws(E'\n', j.topic, coalesce('id ' || nullif(j.collapse_id, ''), 'payload '
                || coalesce(j.payload, (carillon.payloads_of(j, ARRAY[w.token]))[1])::text)), 0) AS meaning
        FROM unnest(pace_devices.job, pace_devices.token) WITH ORDINALITY AS w(job, token, place)
        JOIN unnest(held) AS j ON j.id = w.job
        JOIN (SELECT DISTINCT h.id, lower(u.token) AS token FROM unnest(held) AS h, unnest(h.tokens) AS u(token)) AS t
            ON t.id = w.job AND t.token = lower(w.token)
        ORDER BY lower(w.token), coalesce(j.origin, j.id), w.place
    LOOP
        SELECT ARRAY(SELECT s FROM unnest(d.slots) AS s
                WHERE s.at > clock - span AND s.message_id <> push.message ORDER BY s.at),
            (SELECT max(s.at) FROM unnest(d.slots) AS s WHERE s.message_id = push.message)
        INTO known, own FROM carillon.device_slots d WHERE d.app_id = app AND d.token = push.token FOR UPDATE;
        -- A push that has had a slot goes ahead of pushes whose slots are in the future.
        taken := ARRAY(SELECT s.at FROM unnest(known) AS s WHERE own IS NULL OR s.at <= clock ORDER BY s.at);
        messages[push.place] := push.message;
        verdicts[push.place] := 0;
        slot_at := clock;
        IF cardinality(taken) >= most THEN
            slot_at := clock + step * ceil(
                extract(epoch FROM taken[cardinality(taken) - most + 1] + span - clock) / extract(epoch FROM step));
            verdicts[push.place] := -1;
            SELECT s.message_id AS message, s.at INTO waiting FROM unnest(known) AS s
            WHERE s.meaning = push.meaning AND s.at > clock ORDER BY s.message_id DESC LIMIT 1;
            IF FOUND THEN
                other := CASE WHEN waiting.message = ANY (messages) THEN (
                    SELECT p.place FROM unnest(messages, pace_devices.token, verdicts) WITH ORDINALITY
                    AS p(message, token, verdict, place)
                    WHERE p.message = waiting.message AND lower(p.token) = push.token AND p.verdict = -1 LIMIT 1) END;
                source := (SELECT i FROM generate_subscripts(pulled, 1) AS i
                    WHERE coalesce(pulled[i].origin, pulled[i].id) = waiting.message
                        AND push.token = ANY (pulled[i].tokens) LIMIT 1);
                IF other IS NULL AND source IS NULL THEN
                    SELECT s.* INTO found_job FROM carillon.scheduled s
                    WHERE s.app_id = app AND (s.id = waiting.message OR s.origin = waiting.message)
                        AND (push.token = ANY (s.tokens)
                            OR push.token IN (SELECT lower(u.token) FROM unnest(s.tokens) AS u(token)))
                        AND s.id NOT IN (SELECT h.id FROM unnest(held) AS h)
                    LIMIT 1 FOR UPDATE SKIP LOCKED;
                    IF FOUND AND waiting.message < push.message THEN
                        DELETE FROM carillon.scheduled s WHERE s.app_id = app AND s.id = found_job.id;
                        pulled := pulled || carillon.changed(carillon.job_of(found_job), tokens => ARRAY(
                            SELECT lower(u.token) FROM unnest(found_job.tokens) WITH ORDINALITY AS u(token, place)
                            ORDER BY u.place));
                        pulled_until := pulled_until || found_job.run_at;
                        source := cardinality(pulled);
                    ELSIF FOUND THEN
                        source := 0;
                    END IF;
                END IF;
                IF waiting.message > push.message AND coalesce(other, source) IS NOT NULL THEN
                    verdicts[push.place] := NULL;
                ELSE
                    -- The push takes the slot of the waiting one.
                    slot_at := waiting.at;
                    known := ARRAY(SELECT s FROM unnest(known) AS s WHERE s.message_id <> waiting.message);
                    IF other IS NOT NULL THEN
                        verdicts[other] := NULL;
                        waits[other] := NULL;
                    ELSIF source IS NOT NULL THEN
                        replaced := replaced || (pulled[source].id || ' ' || push.token);
                    END IF;
                END IF;
            END IF;
        END IF;
        IF verdicts[push.place] = -1 THEN
            -- Whole minutes, rounded up: no push comes before its slot, and most pushes of a job wait together.
            waits[push.place] := least(86400000, ceil(extract(epoch FROM slot_at - clock) / 60) * 60000);
        END IF;
        UPDATE carillon.device_slots d SET last_at = greatest(d.last_at, slot_at), slots = CASE
            WHEN verdicts[push.place] IS NULL THEN known
            ELSE known || ROW(slot_at, push.message, push.meaning)::carillon.device_slot END
        WHERE d.app_id = app AND d.token = push.token;
    END LOOP;
    SELECT array_agg(l.job) AS jobs, array_agg(l.token) AS tokens, array_agg(l.wait) AS waits INTO leaving FROM (
        SELECT w.job, w.token, w.wait FROM unnest(pace_devices.job, pace_devices.token, waits, verdicts)
            AS w(job, token, wait, verdict) WHERE w.verdict IS DISTINCT FROM 0
        UNION ALL
        SELECT pulled[i].id, lower(u.token), CASE WHEN pulled[i].id || ' ' || lower(u.token) = ANY (replaced) THEN NULL
            ELSE greatest(0, ceil(extract(epoch FROM pulled_until[i] - clock) * 1000))::integer END
        FROM generate_subscripts(pulled, 1) AS i, unnest(pulled[i].tokens) AS u(token)
    ) AS l;
    IF leaving.jobs IS NOT NULL THEN
        PERFORM carillon.withdraw(app, claim, held || pulled, leaving.jobs, leaving.tokens, leaving.waits);
    END IF;
    RETURN verdicts || cardinality(replaced)::bigint;
END
$$;
COMMENT ON FUNCTION carillon.pace_devices IS
    'Internal: paces the background pushes of a claim, limiting each token to a number of pushes within any hour.';
