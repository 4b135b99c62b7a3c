-- What workers do in one stroke each. Whoever calls names its own row of carillon.workers, the fence: once that row is
-- gone, and what it held was taken over, nothing is written on its behalf any more.

-- Puts jobs back where they were claimed from, ids and all.
CREATE FUNCTION carillon.restore(app integer, jobs carillon.job[], claimed_in_vain smallint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    restored bigint;
BEGIN
    INSERT INTO carillon.messages (app_id, lane, id, tokens, payload, push_type, priority, expires_at, collapse_id, topic,
        reference, on_unknown, attempt, claims, origin, broadcast_id, created_at)
    SELECT restore.app, j.lane, j.id, j.tokens, j.payload, j.push_type, j.priority, j.expires_at, j.collapse_id, j.topic,
        j.reference, j.on_unknown, j.attempt, j.claims + claimed_in_vain, j.origin, j.broadcast_id, j.created_at
    FROM unnest(restore.jobs) AS j;
    GET DIAGNOSTICS restored = ROW_COUNT;
    RETURN restored;
END
$$;

-- Gives up claims of which nothing was sent. Returns how many jobs that was.
CREATE FUNCTION carillon.release(worker bigint, claims bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    claim record;
    released bigint := 0;
BEGIN
    FOR claim IN
        DELETE FROM carillon.inflight f WHERE f.id = ANY (release.claims) AND f.worker_id = release.worker
        RETURNING f.app_id, f.jobs
    LOOP
        released := released + carillon.restore(claim.app_id, claim.jobs, 0::smallint);
    END LOOP;
    RETURN released;
END
$$;

-- Counts what ended of messages that do not end in one piece; one of which nothing remains becomes its row of results.
-- `returned` is what is still to come of a message seen here for the first time.
CREATE FUNCTION carillon.progress(
    app integer, messages bigint[], reference text[], broadcast bigint[],
    returned integer[], sent integer[], failed integer[], expired integer[], attempts smallint[]
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    -- In the order of ids, so that two workers with parts of the same messages never wait for each other in a circle.
    INSERT INTO carillon.unfinished AS u
        (message_id, app_id, reference, broadcast_id, remaining, sent, failed, expired, attempts)
    SELECT p.message_id, progress.app, min(p.reference), min(p.broadcast_id), sum(p.returned), sum(p.sent), sum(p.failed),
        sum(p.expired), max(p.attempts)
    FROM unnest(messages, progress.reference, broadcast, progress.returned, progress.sent, progress.failed,
            progress.expired, progress.attempts)
        AS p(message_id, reference, broadcast_id, returned, sent, failed, expired, attempts)
    GROUP BY p.message_id ORDER BY p.message_id
    ON CONFLICT (message_id) DO UPDATE SET
        remaining = u.remaining - excluded.sent - excluded.failed - excluded.expired,
        sent = u.sent + excluded.sent, failed = u.failed + excluded.failed, expired = u.expired + excluded.expired,
        attempts = greatest(u.attempts, excluded.attempts);
    WITH finished AS (
        DELETE FROM carillon.unfinished u WHERE u.message_id = ANY (progress.messages) AND u.remaining <= 0 RETURNING u.*
    )
    INSERT INTO carillon.results
        (message_id, app_id, reference, broadcast_id, sent, failed, expired, cancelled, attempts)
    SELECT f.message_id, f.app_id, f.reference, f.broadcast_id, f.sent, f.failed, f.expired, f.cancelled, f.attempts
    FROM finished f;
END
$$;

-- Writes what became of a claim, once: the row that is deleted first is the only one of its kind, so writing twice
-- changes nothing the second time, and neither does writing what another worker has taken over. False: it was so. The
-- time of the claim belongs to the fence: a crash of the database may undo a claim, and give its number away again.
--
-- Arrays that belong together have the same length; those whose every value is the default may be empty. A job that goes
-- back whole keeps its id; of one that ended in part, the tokens in question become a job of their own.
CREATE FUNCTION carillon.settle(
    claim bigint, worker bigint, claimed timestamptz,
    ended bigint[], ended_reference text[], ended_broadcast bigint[], ended_sent integer[], ended_failed integer[],
    ended_expired integer[], ended_attempts smallint[],
    part bigint[], part_reference text[], part_broadcast bigint[], part_returned integer[], part_sent integer[],
    part_failed integer[], part_expired integer[], part_attempts smallint[],
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_attempt smallint[],
    dead text[], dead_since timestamptz[], dead_reason text[],
    again bigint[], again_whole boolean[], again_attempt smallint[], again_after integer[],  -- milliseconds; null: at once
    again_place integer[], again_token text[]  -- the tokens, each with the place of its job in again, from 1
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    app integer;
    jobs carillon.job[];
BEGIN
    IF cardinality(again) > 0 THEN
        DELETE FROM carillon.inflight f WHERE f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
        RETURNING f.app_id, f.jobs INTO app, jobs;
    ELSE
        DELETE FROM carillon.inflight f WHERE f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
        RETURNING f.app_id INTO app;
    END IF;
    IF app IS NULL THEN
        RETURN false;
    END IF;
    IF cardinality(ended) > 0 THEN
        INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, sent, failed, expired, attempts)
        SELECT e.id, app, e.reference, e.broadcast, coalesce(e.sent, 1), coalesce(e.failed, 0), coalesce(e.expired, 0),
            coalesce(e.attempts, 1)
        FROM unnest(ended, ended_reference, ended_broadcast, ended_sent, ended_failed, ended_expired, ended_attempts)
            AS e(id, reference, broadcast, sent, failed, expired, attempts);
    END IF;
    IF cardinality(part) > 0 THEN
        PERFORM carillon.progress(app, part, part_reference, part_broadcast, part_returned, part_sent, part_failed,
            part_expired, part_attempts);
    END IF;
    IF cardinality(failed) > 0 THEN
        INSERT INTO carillon.failures
            (message_id, app_id, reference, token, status, reason, unregistered_at, apns_id, attempt)
        SELECT f.id, app, f.reference, f.token, f.status, f.reason, f.unregistered_at, f.apns_id, f.attempt
        FROM unnest(failed, failed_reference, failed_token, failed_status, failed_reason, failed_unregistered_at,
                failed_apns_id, failed_attempt)
            AS f(id, reference, token, status, reason, unregistered_at, apns_id, attempt);
    END IF;
    IF cardinality(dead) > 0 THEN
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, source)
        SELECT app, d.token, d.unregistered_at, d.reason, 'http2'
        FROM unnest(dead, dead_since, dead_reason) AS d(token, unregistered_at, reason);
    END IF;
    IF cardinality(again) > 0 THEN
        WITH tokens AS (
            SELECT t.place, array_agg(t.token) AS list FROM unnest(again_place, again_token) AS t(place, token)
            GROUP BY t.place
        ), job AS (
            SELECT a.whole, a.attempt AS next_attempt, a.after, coalesce(t.list, j.tokens) AS list, j.*
            FROM unnest(again, again_whole, again_attempt, again_after) WITH ORDINALITY
                AS a(id, whole, attempt, after, place)
            JOIN unnest(jobs) AS j ON j.id = a.id
            LEFT JOIN tokens t ON t.place = a.place
        ), at_once AS (
            INSERT INTO carillon.messages (id, app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
                topic, reference, on_unknown, attempt, origin, broadcast_id, created_at)
            SELECT CASE WHEN j.whole THEN j.id ELSE nextval('carillon.messages_id_seq') END, app, j.lane, j.list,
                j.payload, j.push_type, j.priority, j.expires_at, j.collapse_id, j.topic, j.reference, j.on_unknown,
                j.next_attempt, CASE WHEN j.whole THEN j.origin ELSE coalesce(j.origin, j.id) END, j.broadcast_id,
                j.created_at
            FROM job j WHERE j.after IS NULL
        )
        INSERT INTO carillon.scheduled (id, app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
            topic, reference, on_unknown, attempt, origin, broadcast_id, created_at, run_at)
        SELECT CASE WHEN j.whole THEN j.id ELSE nextval('carillon.messages_id_seq') END, app, j.lane, j.list,
            j.payload, j.push_type, j.priority, j.expires_at, j.collapse_id, j.topic, j.reference, j.on_unknown,
            j.next_attempt, CASE WHEN j.whole THEN j.origin ELSE coalesce(j.origin, j.id) END, j.broadcast_id,
            j.created_at, now() + make_interval(secs => j.after / 1000.0)
        FROM job j WHERE j.after IS NOT NULL;
    END IF;
    RETURN true;
END
$$;

-- Cuts a message with more tokens than a worker may have in flight into jobs that fit. Each token is kept once, and of
-- what is too long to be a token only so much that it still is.
CREATE FUNCTION carillon.split(app integer, in_lane smallint, message bigint, size integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    whole carillon.messages;
    list text[];
    pieces integer;
BEGIN
    DELETE FROM carillon.messages m WHERE m.app_id = split.app AND m.lane = in_lane AND m.id = message
    RETURNING m.* INTO whole;
    IF whole.id IS NULL THEN
        RETURN 0;
    END IF;
    SELECT array_agg(t.token ORDER BY t.place) INTO list FROM (
        -- Upper and lower case are the same token, and null is the empty one, as for those who read it.
        SELECT min(left(u.token, 513)) AS token, min(u.place) AS place
        FROM unnest(whole.tokens) WITH ORDINALITY AS u(token, place)
        GROUP BY lower(left(coalesce(u.token, ''), 513) COLLATE "C")
    ) AS t;
    IF whole.origin IS NULL THEN
        INSERT INTO carillon.unfinished (message_id, app_id, reference, broadcast_id, remaining, attempts)
        VALUES (whole.id, whole.app_id, whole.reference, whole.broadcast_id, cardinality(list), whole.attempt);
    ELSE
        UPDATE carillon.unfinished u SET remaining = u.remaining - cardinality(whole.tokens) + cardinality(list)
        WHERE u.message_id = whole.origin;
    END IF;
    INSERT INTO carillon.messages (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id, topic,
        reference, on_unknown, attempt, claims, origin, broadcast_id, created_at)
    SELECT whole.app_id, whole.lane, array_agg(t.token ORDER BY t.place), whole.payload, whole.push_type, whole.priority,
        whole.expires_at, whole.collapse_id, whole.topic, whole.reference, whole.on_unknown, whole.attempt, whole.claims,
        coalesce(whole.origin, whole.id), whole.broadcast_id, whole.created_at
    FROM unnest(list) WITH ORDINALITY AS t(token, place)
    GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size;
    GET DIAGNOSTICS pieces = ROW_COUNT;
    RETURN pieces;
END
$$;

-- Removes workers whose lease has run out, and puts back what workers that are gone have left in flight. What may not be
-- sent twice fails instead: nobody knows whether it was sent.
CREATE FUNCTION carillon.take_over(worker bigint, OUT workers integer, OUT claims integer, OUT jobs bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    held record;
    unsure carillon.job[];
BEGIN
    claims := 0;
    jobs := 0;
    -- Deleting looks at the lease again under the row's lock: a heartbeat that came first wins.
    DELETE FROM carillon.workers w WHERE w.lease_until < now() AND w.id <> take_over.worker
        AND w.id = ANY (ARRAY(
            SELECT d.id FROM carillon.workers d WHERE d.lease_until < now() ORDER BY d.id FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS workers = ROW_COUNT;
    FOR held IN
        DELETE FROM carillon.inflight f WHERE f.id = ANY (ARRAY(
            SELECT o.id FROM carillon.inflight o
            WHERE NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = o.worker_id)
            ORDER BY o.id LIMIT 100 FOR UPDATE SKIP LOCKED))
        RETURNING f.app_id, f.jobs
    LOOP
        claims := claims + 1;
        jobs := jobs + carillon.restore(
            held.app_id, ARRAY(SELECT j FROM unnest(held.jobs) AS j WHERE j.on_unknown <> 'fail'), 1::smallint);
        unsure := ARRAY(SELECT j FROM unnest(held.jobs) AS j WHERE j.on_unknown = 'fail');
        IF cardinality(unsure) > 0 THEN
            jobs := jobs + cardinality(unsure);
            INSERT INTO carillon.failures (message_id, app_id, reference, token, reason, attempt)
            SELECT coalesce(j.origin, j.id), held.app_id, j.reference, t.token, 'OutcomeUnknown', j.attempt
            FROM unnest(unsure) AS j, LATERAL (
                SELECT DISTINCT lower(coalesce(u.token, '') COLLATE "C") FROM unnest(j.tokens) AS u(token)) AS t(token);
            INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, sent, failed, attempts)
            SELECT j.id, held.app_id, j.reference, j.broadcast_id, 0,
                (SELECT count(DISTINCT lower(coalesce(t.token, '') COLLATE "C")) FROM unnest(j.tokens) AS t(token)),
                j.attempt
            FROM unnest(unsure) AS j WHERE j.origin IS NULL;
            PERFORM carillon.progress(held.app_id, array_agg(j.origin), array_agg(j.reference), array_agg(j.broadcast_id),
                array_agg(0), array_agg(0), array_agg(cardinality(j.tokens)), array_agg(0), array_agg(j.attempt))
            FROM unnest(unsure) AS j WHERE j.origin IS NOT NULL HAVING count(*) > 0;
        END IF;
    END LOOP;
END
$$;

DO $$
DECLARE
    name regprocedure;
BEGIN
    FOR name IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'carillon'::regnamespace
          AND p.proname IN ('restore', 'release', 'progress', 'settle', 'split', 'take_over')
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO carillon_worker', name);
    END LOOP;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (13, 'work');
