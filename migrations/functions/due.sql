-- Jobs that fall due move from scheduled to messages. Background pushes above max_per_device go
-- back to scheduled.

-- The rows stay in place, so a session that waits to delete them still finds them. If PostgreSQL refuses, or the table is locked,
-- they stay due.
CREATE OR REPLACE FUNCTION carillon.put_off(due tid[]) RETURNS void
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
COMMENT ON FUNCTION carillon.put_off IS
    'Internal: delays jobs that are due by a second, after which it is known whether they were cancelled.';

CREATE OR REPLACE FUNCTION carillon.move_due(due tid[], cancelled tid[])
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    ready record;
BEGIN
    FOR ready IN
        WITH taken AS (
            DELETE FROM carillon.scheduled s WHERE s.ctid = ANY (due)
            RETURNING s.*, CASE WHEN s.ctid = ANY (cancelled) THEN coalesce(s.origin, s.id) END AS cancelled
        )
        SELECT t.app_id, t.lane, min(t.id) AS lowest, array_agg(carillon.job(id => t.id, lane => t.lane, tokens => t.tokens,
                payload => t.payload, payloads => t.payloads, push_type => t.push_type, priority => t.priority,
                expires_at => t.expires_at, collapse_id => t.collapse_id, topic => t.topic, reference => t.reference,
                on_unknown => t.on_unknown, attempt => t.attempt, claims => t.claims, origin => t.origin,
                broadcast_id => t.broadcast_id, created_at => t.created_at, last_status => t.last_status,
                last_reason => t.last_reason) ORDER BY t.id) AS jobs,
            array_agg(t.cancelled) FILTER (WHERE t.cancelled IS NOT NULL) AS cancelled
        FROM taken t GROUP BY t.app_id, t.lane
    LOOP
        app_id := ready.app_id;
        lane := ready.lane;
        lowest := ready.lowest;
        jobs := cardinality(ready.jobs);
        IF ready.cancelled IS NULL THEN
            PERFORM carillon.put_back(ready.app_id, ready.jobs);
        ELSE
            PERFORM carillon.restore(ready.app_id, ready.jobs, ready.cancelled, '{}');
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.move_due IS
    'Internal: moves due rows of scheduled to messages, except those in cancelled; returns a row for each lane with new jobs.';

-- It begins after a place in the order of time and id: dead index entries before it remain while any transaction is open. It
-- returns a row for each lane with new jobs: how many, and the lowest id. The last row has no lane: it is the place where the
-- next call may begin.
--
-- One scan finds what is due of all apps: an index for each app would mean a scan for each. It never waits long for a lock. A job
-- stays in scheduled if it was cancelled and its row of unfinished is locked, and if it is being cancelled. If an open
-- transaction holds the id of a job or its row of unfinished, jobs move one by one, and the rest stays after several such locks.
CREATE OR REPLACE FUNCTION carillon.promote(
    most integer, after timestamptz DEFAULT '-infinity', after_id bigint DEFAULT -9223372036854775808
)
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint, place timestamptz, place_id bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '10ms' AS $$
DECLARE
    most_locks CONSTANT integer := 8;
    most_bytes CONSTANT integer := 67108864;
    locks integer := 0;
    one tid;
    due tid[];
    is_cut boolean;
    cancelled tid[];
    unsure tid[];
    kept tid[];
BEGIN
    -- The clock was set back.
    IF after > now() THEN
        after := '-infinity';
        after_id := -9223372036854775808;
    END IF;
    -- At least one row, and no more than an array can hold. Sizes are compressed ones, so a large row moves alone.
    SELECT array_agg(d.ctid ORDER BY d.run_at, d.id) FILTER (WHERE d.place = 1 OR d.total <= most_bytes),
        bool_or(d.place > 1 AND d.total > most_bytes)
    INTO due, is_cut FROM (
        SELECT l.*, row_number() OVER w AS place,
            sum(CASE WHEN l.size > 1048576 THEN most_bytes + 1::bigint ELSE l.size END) OVER w AS total FROM (
            SELECT s.ctid, s.run_at, s.id, pg_column_size(s.tokens) + coalesce(pg_column_size(s.payloads), 0) AS size
            FROM carillon.scheduled s
            WHERE s.run_at <= now() AND (s.run_at, s.id) > (after, after_id)
            ORDER BY s.run_at, s.id LIMIT most FOR UPDATE SKIP LOCKED
        ) AS l WINDOW w AS (ORDER BY l.run_at, l.id)
    ) AS d;
    -- Due rows that are left are behind the last one that was taken.
    place := now();
    place_id := 9223372036854775807;
    IF due IS NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    IF cardinality(due) >= most OR is_cut THEN
        SELECT s.run_at, s.id INTO place, place_id FROM carillon.scheduled s WHERE s.ctid = due[cardinality(due)];
    END IF;
    SELECT array_agg(d.place) FILTER (WHERE d.message = ANY (o.cancelled)),
        array_agg(d.place) FILTER (WHERE d.message = ANY (o.unsure)),
        array_agg(d.place) FILTER (WHERE d.message = ANY (o.unsure || o.busy))
    INTO cancelled, unsure, kept
    FROM (
        SELECT s.app_id, array_agg(s.ctid) AS due, array_agg(coalesce(s.origin, s.id)) AS messages,
            array_agg(s.broadcast_id) AS broadcasts
        FROM carillon.scheduled s WHERE s.ctid = ANY (due) GROUP BY s.app_id ORDER BY s.app_id
    ) AS a, carillon.find_cancelled(a.app_id, a.messages, a.broadcasts, '{}', waits => false) AS o,
        unnest(a.due, a.messages) AS d(place, message)
    WHERE o.cancelled || o.unsure <> '{}';
    IF unsure IS NOT NULL THEN
        PERFORM carillon.put_off(unsure);
    END IF;
    IF kept IS NOT NULL THEN
        due := ARRAY(SELECT d FROM unnest(due) AS d WHERE d NOT IN (SELECT unnest(kept)));
    END IF;
    BEGIN
        RETURN QUERY SELECT m.*, place, place_id FROM carillon.move_due(due, cancelled) m;
    EXCEPTION
        WHEN lock_not_available THEN
            FOREACH one IN ARRAY due LOOP
                EXIT WHEN locks >= most_locks;
                BEGIN
                    RETURN QUERY SELECT m.*, place, place_id FROM carillon.move_due(ARRAY[one], cancelled) m;
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
COMMENT ON FUNCTION carillon.promote IS 'Internal: moves jobs that are due from scheduled to messages.';

-- Returns for each push 0: it is sent; -1: it waits in scheduled for its slot; null: it has ended as superseded, as a newer one
-- with the same meaning waits. One more number follows: how many pushes that waited have ended so. Null in place of the list:
-- another worker has taken the claim over.
--
-- The same meaning is the same topic and collapse id or, without one, the same payload. A push that comes back for another
-- attempt keeps its slot, which moves to now: no hour has more, but for what is sent twice because its outcome is unknown.
--
-- All workers lock tokens in their order. Rows of scheduled that are locked by others are not waited for: their pushes come
-- later, and are paced then.
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
    pulled carillon.job[] := '{}';  -- jobs of scheduled with a push that is replaced
    pulled_until timestamptz[] := '{}';
    verdicts bigint[] := array_fill(NULL::bigint, ARRAY[pushes]);
    waits integer[] := array_fill(NULL::integer, ARRAY[pushes]);
    messages bigint[] := array_fill(NULL::bigint, ARRAY[pushes]);
    replaced text[] := '{}';  -- the id of a job and a token
    known carillon.device_slot[];
    taken timestamptz[];
    own timestamptz;
    slot_at timestamptz;
    push record;
    waiting record;
    found_job record;
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
        -- A push that has had a slot is not behind those whose time has not come.
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
                        pulled := pulled || carillon.job(id => found_job.id, lane => found_job.lane, tokens => ARRAY(
                                SELECT lower(u.token) FROM unnest(found_job.tokens) WITH ORDINALITY AS u(token, place)
                                ORDER BY u.place), payload => found_job.payload, payloads => found_job.payloads,
                            push_type => found_job.push_type, priority => found_job.priority,
                            expires_at => found_job.expires_at, collapse_id => found_job.collapse_id,
                            topic => found_job.topic, reference => found_job.reference,
                            on_unknown => found_job.on_unknown, attempt => found_job.attempt,
                            claims => found_job.claims, origin => found_job.origin,
                            broadcast_id => found_job.broadcast_id, created_at => found_job.created_at,
                            last_status => found_job.last_status, last_reason => found_job.last_reason);
                        pulled_until := pulled_until || found_job.run_at;
                        source := cardinality(pulled);
                    ELSIF FOUND THEN
                        source := 0;
                    END IF;
                END IF;
                IF waiting.message > push.message AND coalesce(other, source) IS NOT NULL THEN
                    verdicts[push.place] := NULL;
                ELSE
                    -- It takes the place of the one that waits.
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
    'Internal: paces the background pushes of a claim: each token gets so many within any hour.';
