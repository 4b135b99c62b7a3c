-- Jobs that are too large for a worker, and jobs that no worker survives.

-- A text that is too long to be a token, short enough to be kept: its beginning, and what tells it from others that begin so.
-- The planner puts this in the place of its call, so it names everything.
CREATE FUNCTION carillon.shortened(token text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN pg_catalog.length(token) OPERATOR(pg_catalog.>) 512
        THEN pg_catalog.left(token, 480) OPERATOR(pg_catalog.||) '…'
            OPERATOR(pg_catalog.||) pg_catalog.md5(token)
        ELSE token END
$$;

-- Cuts a job, which is in no table any more, into jobs of so many tokens. Each token is kept once, and what is too long to
-- be a token is shortened. Returns how many jobs that was.
CREATE FUNCTION carillon.cut(app integer, whole carillon.job, size integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    list text[];
    pieces integer;
    wanted integer;
BEGIN
    SELECT array_agg(t.token ORDER BY t.place) INTO list FROM (
        -- Upper and lower case are the same token, and null is the empty one, as for those who read it.
        SELECT min(u.token) AS token, min(u.place) AS place
        FROM (
            SELECT carillon.shortened(w.token) AS token, w.place
            FROM unnest(whole.tokens) WITH ORDINALITY AS w(token, place)
        ) AS u
        GROUP BY lower(coalesce(u.token, '') COLLATE "C")
    ) AS t;
    IF whole.origin IS NULL THEN
        INSERT INTO carillon.unfinished AS u (message_id, app_id, reference, broadcast_id, remaining, attempts)
        VALUES (whole.id, cut.app, whole.reference, whole.broadcast_id, cardinality(list), whole.attempt - 1)
        ON CONFLICT (app_id, message_id) DO UPDATE SET remaining = u.remaining + excluded.remaining;
    ELSIF cardinality(list) <> cardinality(whole.tokens) THEN
        UPDATE carillon.unfinished u SET remaining = u.remaining - cardinality(whole.tokens) + cardinality(list)
        WHERE u.app_id = cut.app AND u.message_id = whole.origin;
    END IF;
    wanted := (cardinality(list) + size - 1) / size;
    BEGIN
        PERFORM carillon.own_path();
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id, topic,
            reference, on_unknown, attempt, claims, origin, broadcast_id, created_at, last_status, last_reason)
        SELECT cut.app, whole.lane, pg_catalog.array_agg(t.token ORDER BY t.place), whole.payload, whole.push_type,
            whole.priority, whole.expires_at, whole.collapse_id, whole.topic, whole.reference, whole.on_unknown, whole.attempt,
            whole.claims, coalesce(whole.origin, whole.id), whole.broadcast_id, whole.created_at, whole.last_status,
            whole.last_reason
        FROM pg_catalog.unnest(list) WITH ORDINALITY AS t(token, place)
        GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size;
        GET DIAGNOSTICS pieces = ROW_COUNT;
        IF pieces < wanted THEN
            RAISE EXCEPTION 'a trigger keeps jobs out of the queue';
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) THEN
            RAISE;
        END IF;
        -- Not all of them can be stored. Some can, perhaps; the others are to fail.
        pieces := carillon.restore(app, ARRAY(
            SELECT ROW(nextval('carillon.messages_id_seq'), whole.lane, array_agg(t.token ORDER BY t.place), whole.payload,
                whole.push_type, whole.priority, whole.expires_at, whole.collapse_id, whole.topic, whole.reference,
                whole.on_unknown, whole.attempt, whole.claims, coalesce(whole.origin, whole.id), whole.broadcast_id,
                whole.created_at, whole.last_status, whole.last_reason)::carillon.job
            FROM unnest(list) WITH ORDINALITY AS t(token, place)
            GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size), '{}', '{}');
    END;
    RETURN pieces;
END
$$;

-- Cuts a message with more tokens than a worker may have in flight into jobs that fit.
CREATE FUNCTION carillon.split(app integer, in_lane smallint, message bigint, size integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    off record;
    whole carillon.job;
BEGIN
    -- Before the row itself is locked: whoever cancels the message has it locked, or waits for it.
    SELECT o.* INTO off FROM carillon.messages m,
        carillon.called_off(ARRAY[m.app_id], ARRAY[coalesce(m.origin, m.id)], ARRAY[m.broadcast_id], '{}') AS o
    WHERE m.app_id = split.app AND m.lane = in_lane AND m.id = message;
    IF cardinality(off.unsure) > 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM carillon.messages m WHERE m.app_id = split.app AND m.lane = in_lane AND m.id = message
    RETURNING m.id, m.lane, m.tokens, m.payload, m.push_type, m.priority, m.expires_at, m.collapse_id, m.topic,
        m.reference, m.on_unknown, m.attempt, m.claims, m.origin, m.broadcast_id, m.created_at, m.last_status,
        m.last_reason INTO whole;
    IF whole.id IS NULL THEN
        RETURN 0;
    ELSIF cardinality(off.gone) > 0 THEN
        PERFORM carillon.call_off(app, ARRAY[whole]);
        RETURN 0;
    ELSIF octet_length(whole.payload::text) > (CASE whole.push_type WHEN 'voip' THEN 5120 ELSE 4096 END) THEN
        -- Every part would fail for it, and until then hold a copy of it. What a claim keeps of it is enough.
        whole.payload := to_json(repeat('x', 8192));
        PERFORM carillon.fail_jobs(app, ARRAY[whole], 'PayloadTooLarge');
        RETURN 0;
    END IF;
    RETURN carillon.cut(app, whole, size);
END
$$;

-- Ends jobs here and now: every token of theirs fails for the reason given. Where PostgreSQL refuses to write that of a
-- job, it ends all the same, with so much as can be written.
CREATE FUNCTION carillon.fail_jobs(app integer, jobs carillon.job[], why text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(jobs) / 2;
    -- For other reasons than these two, jobs end before the attempt that they wait for.
    unbegun CONSTANT smallint := CASE WHEN why IN ('OutcomeUnknown', 'Poison') THEN 0 ELSE 1 END;
    tokens text[];
BEGIN
    PERFORM carillon.own_path();
    INSERT INTO carillon.failures (message_id, app_id, reference, token, reason, attempt)
    SELECT coalesce(j.origin, j.id), fail_jobs.app, j.reference, t.token, why, j.attempt
    FROM pg_catalog.unnest(jobs) AS j, LATERAL (
        SELECT DISTINCT pg_catalog.lower(coalesce(u.token, '') COLLATE pg_catalog."C")
        FROM pg_catalog.unnest(j.tokens) AS u(token)) AS t(token);
    PERFORM carillon.keep_failed(app, jobs);
    INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, sent, failed, attempts)
    SELECT j.id, fail_jobs.app, j.reference, j.broadcast_id, 0, carillon.count_tokens(j.tokens), j.attempt - unbegun
    FROM pg_catalog.unnest(jobs) AS j WHERE j.origin IS NULL;
    PERFORM carillon.progress(app, pg_catalog.array_agg(j.origin), pg_catalog.array_agg(j.reference),
        pg_catalog.array_agg(j.broadcast_id), pg_catalog.array_agg(0), pg_catalog.array_agg(0),
        pg_catalog.array_agg(carillon.count_tokens(j.tokens)), pg_catalog.array_agg(0),
        pg_catalog.array_agg(j.attempt - unbegun))
    FROM pg_catalog.unnest(jobs) AS j WHERE j.origin IS NOT NULL HAVING pg_catalog.count(*) > 0;
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) THEN
            RAISE;
        END IF;
        IF half > 0 THEN
            PERFORM carillon.fail_jobs(app, jobs[:half], why);
            PERFORM carillon.fail_jobs(app, jobs[half + 1:], why);
        ELSE
            tokens := ARRAY(
                SELECT DISTINCT lower(coalesce(t.token, '') COLLATE "C") FROM unnest(jobs[1].tokens) AS t(token));
            PERFORM carillon.end_unrecorded(app, jobs[1], why, 0, cardinality(tokens), 0, tokens,
                array_fill(NULL::smallint, ARRAY[cardinality(tokens)]), array_fill(NULL::uuid, ARRAY[cardinality(tokens)]));
        END IF;
END
$$;

-- How many pushes may be in flight together of jobs that have been claimed so often in vain: 500 after the third time, half
-- as many after each further one, one in the end.
CREATE FUNCTION carillon.trial_size(claims integer) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(1, 1000 >> (least(claims, 12) - 2)) $$;

-- The claims in vain of a job with which another worker has died, as one of so many suspicious pushes: as many as make the
-- next trial one of half of them at most. 12 stands for one death alone, 13 for two.
CREATE FUNCTION carillon.count_death(claims smallint, together bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
    SELECT least(32767, CASE
        WHEN claims < 2 THEN claims + 1
        WHEN claims > 2 AND together = 1 THEN greatest(claims + 1, 12)
        ELSE greatest(claims + 1, (
            SELECT min(c) FROM generate_series(3, 11) c WHERE carillon.trial_size(c) <= greatest(1, together / 2)))
    END)::smallint
$$;

-- Ends a message that is too large to be read: cutting it has failed for want of memory. Its tokens are not known, so one
-- failure stands for all of them. What it said is not kept: nobody could send it again.
CREATE FUNCTION carillon.discard(app integer, in_lane smallint, message bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    why CONSTANT text := 'Unreadable';
    whole carillon.job;
BEGIN
    DELETE FROM carillon.messages m WHERE m.app_id = discard.app AND m.lane = in_lane AND m.id = message
    RETURNING m.id, m.lane, '{""}', '{}', 'alert', NULL, NULL, NULL, NULL, left(m.reference, 16384), 'retry', m.attempt,
        m.claims, m.origin, m.broadcast_id, m.created_at, NULL, NULL INTO whole;
    IF whole.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM carillon.own_path();
    BEGIN
        INSERT INTO carillon.failures (message_id, app_id, reference, token, reason, attempt)
        VALUES (coalesce(whole.origin, whole.id), discard.app, whole.reference, '', why, whole.attempt);
        IF whole.origin IS NULL THEN
            INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, sent, failed, attempts)
            VALUES (whole.id, discard.app, whole.reference, whole.broadcast_id, 0, 1, whole.attempt - 1);
        ELSE
            PERFORM carillon.progress(discard.app, ARRAY[whole.origin], ARRAY[whole.reference], ARRAY[whole.broadcast_id],
                '{0}', '{0}', '{1}', '{0}', ARRAY[pg_catalog.int2(whole.attempt - 1)]);
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            IF carillon.is_transient(SQLSTATE) THEN
                RAISE;
            END IF;
            PERFORM carillon.end_unrecorded(discard.app, whole, why, 0, 1, 0, '{""}', '{NULL}', '{NULL}');
    END;
    RETURN true;
END
$$;

-- Puts back what a worker died with, each job with one more claim in vain. What may not be sent twice fails instead:
-- nobody knows whether it was sent.
--
-- Jobs that three workers did not survive are under suspicion. Each of their tokens becomes a job of its own, and they are
-- tried by halves: should a worker die with some of them, half as many are in flight together the next time. What is
-- settled is innocent. One that two workers die with while it is alone is convicted.
CREATE FUNCTION carillon.recover(
    app integer, jobs carillon.job[], gone carillon.message_key[], unsure carillon.message_key[]
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    suspicious CONSTANT smallint := 3;
    guilty CONSTANT smallint := 13;
    -- How many pushes are suspicious from now on, and how many were on trial.
    fresh bigint;
    tried bigint;
    recovered CONSTANT bigint := cardinality(jobs);
    chosen carillon.job[] := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.on_unknown = 'fail');
BEGIN
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.fail_jobs(app, chosen, 'OutcomeUnknown');
    END IF;
    SELECT sum(cardinality(j.tokens)) FILTER (WHERE j.claims = suspicious - 1),
        sum(cardinality(j.tokens)) FILTER (WHERE j.claims >= suspicious)
    INTO fresh, tried FROM unnest(jobs) AS j;
    jobs := ARRAY(
        SELECT ROW(j.id, j.lane, j.tokens, j.payload, j.push_type, j.priority, j.expires_at, j.collapse_id, j.topic,
            j.reference, j.on_unknown, j.attempt,
            carillon.count_death(j.claims, CASE WHEN j.claims < suspicious THEN fresh ELSE tried END), j.origin,
            j.broadcast_id,
            j.created_at, j.last_status, j.last_reason)::carillon.job
        FROM unnest(jobs) AS j WHERE j.on_unknown <> 'fail');
    chosen := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.claims >= guilty AND cardinality(j.tokens) = 1);
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.fail_jobs(app, chosen, 'Poison');
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.claims < guilty OR cardinality(j.tokens) <> 1);
    END IF;
    chosen := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.claims >= suspicious AND cardinality(j.tokens) > 1
        AND (app, coalesce(j.origin, j.id))::carillon.message_key <> ALL (gone || unsure));
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.cut(app, j, 1) FROM unnest(chosen) AS j;
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.claims < suspicious OR cardinality(j.tokens) <= 1
            OR (app, coalesce(j.origin, j.id))::carillon.message_key = ANY (gone || unsure));
    END IF;
    -- An app may have given several of them the same id: these go one after the other.
    PERFORM carillon.restore(app, t.jobs, gone, unsure) FROM (
        SELECT array_agg(n.job) AS jobs
        FROM (SELECT j AS job, row_number() OVER (PARTITION BY j.id) AS place FROM unnest(jobs) AS j) AS n
        GROUP BY n.place ORDER BY n.place) AS t;
    RETURN recovered;
END
$$;

-- Takes over from a worker that is dead: its heartbeat stands still at that beat, by the clock of whoever calls. Puts back
-- what it holds, and what any worker holds that has no row of carillon.workers any more; with no beat, only the latter.
-- What it has said of apps that cannot send goes with it.
--
-- It never waits for a lock on a row. A worker whose row is locked is left alone: its heartbeat may be waiting for that
-- row. So is a claim of which a message's row of unfinished is locked: the next call finds it.
CREATE FUNCTION carillon.take_over(
    dead bigint, beat bigint DEFAULT NULL, OUT workers integer, OUT claims integer, OUT jobs bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    gone bigint[];
    lost bigint[];
    messages carillon.message_key[];
    busy carillon.message_key[];
    off record;
    held record;
BEGIN
    workers := 0;
    claims := 0;
    jobs := 0;
    IF beat IS NOT NULL THEN
        -- Whoever waits for a lock on the table holds up the heartbeats behind it.
        LOCK TABLE carillon.workers IN ROW EXCLUSIVE MODE NOWAIT;
        -- The beat is looked at again under the row's lock: a heartbeat that came first wins.
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
    lost := ARRAY(
        SELECT f.id FROM carillon.inflight f WHERE f.worker_id = ANY (gone) ORDER BY f.id FOR UPDATE SKIP LOCKED);
    IF cardinality(lost) = 0 THEN
        RETURN;
    END IF;
    messages := ARRAY(
        SELECT DISTINCT (f.app_id, coalesce(j.origin, j.id))::carillon.message_key
        FROM carillon.inflight f, unnest(f.jobs) AS j WHERE f.id = ANY (lost));
    busy := carillon.lock_unfinished(messages);
    IF cardinality(busy) > 0 THEN
        lost := ARRAY(
            SELECT f.id FROM carillon.inflight f WHERE f.id = ANY (lost) AND NOT EXISTS (
                SELECT FROM unnest(f.jobs) AS j
                WHERE (f.app_id, coalesce(j.origin, j.id))::carillon.message_key = ANY (busy)));
    END IF;
    SELECT o.* INTO off FROM (
        SELECT array_agg(f.app_id) AS apps, array_agg(coalesce(j.origin, j.id)) AS messages,
            array_agg(j.broadcast_id) AS broadcasts
        FROM carillon.inflight f, unnest(f.jobs) AS j WHERE f.id = ANY (lost)
    ) AS a, carillon.called_off(a.apps, a.messages, a.broadcasts, '{}') AS o;
    INSERT INTO carillon.unknown_outcomes (app_id, message_id) SELECT m.app_id, m.id FROM unnest(messages) AS m;
    claims := cardinality(lost);
    -- All that a worker held of an app at once, as far as it fits into an array.
    FOR held IN
        WITH taken AS (
            DELETE FROM carillon.inflight f WHERE f.id = ANY (lost) RETURNING f.id, f.worker_id, f.app_id, f.jobs
        ), sized AS (
            SELECT t.worker_id, t.app_id, t.jobs,
                sum(pg_column_size(t.jobs)) OVER (PARTITION BY t.worker_id, t.app_id ORDER BY t.id) / 16777216 AS heap
            FROM taken t
        )
        SELECT s.app_id, array_agg(j) AS jobs FROM sized s, unnest(s.jobs) AS j GROUP BY s.worker_id, s.app_id, s.heap
    LOOP
        jobs := jobs + carillon.recover(held.app_id, held.jobs, off.gone, off.unsure);
    END LOOP;
END
$$;

-- Workers that hold claims and have no row of carillon.workers. Hops from worker to worker, never over their claims.
CREATE FUNCTION carillon.gone_workers() RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE holder AS (
        (SELECT f.worker_id AS id FROM carillon.inflight f ORDER BY f.worker_id LIMIT 1)
        UNION ALL
        SELECT n.id FROM holder h, LATERAL (
            SELECT f.worker_id AS id FROM carillon.inflight f WHERE f.worker_id > h.id ORDER BY f.worker_id LIMIT 1) AS n
    )
    SELECT h.id FROM holder h WHERE NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = h.id)
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    carillon.shortened, carillon.cut, carillon.split, carillon.discard, carillon.fail_jobs, carillon.trial_size, carillon.count_death,
    carillon.recover, carillon.take_over, carillon.gone_workers
TO carillon_worker;

INSERT INTO carillon.schema_migrations (version, name) VALUES (15, 'takeover');
