-- Recording the outcomes of a claim. A settlement names the worker and its claim, which is the fence: after a
-- take-over it writes nothing.

-- Without settings, so that PostgreSQL puts its body in place of the calls.
CREATE OR REPLACE FUNCTION carillon.ending(message_id bigint, reference text, broadcast_id bigint, created_at timestamptz,
    attempts integer, sent integer DEFAULT 0, failed integer DEFAULT 0, expired integer DEFAULT 0, cancelled integer DEFAULT 0,
    remaining integer DEFAULT NULL, last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL,
    apns_unique_ids jsonb DEFAULT NULL) RETURNS carillon.ending
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(message_id, reference, broadcast_id, created_at, attempts, sent, failed, expired, cancelled, remaining,
        last_status, last_reason, apns_unique_ids)::carillon.ending
$$;
COMMENT ON FUNCTION carillon.ending IS 'Internal: how pushes of one message ended, by the names of the fields.';

-- A message of which these were all pushes gets its row of results. Others count them in unfinished, and get their row of results
-- with none remaining. A message with pushes to come may meet the row of another message, because an app has used its id twice.
-- It pins no search_path: see own_path().
CREATE OR REPLACE FUNCTION carillon.end_messages(app integer, endings carillon.ending[], worker bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NULL) THEN
        INSERT INTO carillon.results
            (message_id, app_id, reference, broadcast_id, sent, failed, expired, cancelled, attempts, created_at, worker_id,
            last_status, last_reason, apns_unique_ids)
        SELECT e.message_id, end_messages.app, e.reference, e.broadcast_id, e.sent, e.failed, e.expired, e.cancelled, e.attempts,
            e.created_at, end_messages.worker, e.last_status, e.last_reason, e.apns_unique_ids
        FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NULL;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NOT NULL) THEN
        RETURN;
    END IF;
    -- In order of id, so that two workers with parts of the same messages cannot deadlock.
    INSERT INTO carillon.unfinished AS u
        (message_id, app_id, reference, broadcast_id, remaining, sent, failed, expired, cancelled, attempts, last_status,
        last_reason, apns_unique_ids, created_at)
    SELECT e.message_id, end_messages.app, pg_catalog.min(e.reference), pg_catalog.min(e.broadcast_id),
        pg_catalog.sum(CASE WHEN e.remaining > 0 THEN e.remaining ELSE -(e.sent + e.failed + e.expired + e.cancelled) END),
        pg_catalog.sum(e.sent), pg_catalog.sum(e.failed), pg_catalog.sum(e.expired), pg_catalog.sum(e.cancelled),
        pg_catalog.max(e.attempts),
        (pg_catalog.array_agg(e.last_status ORDER BY e.attempts DESC) FILTER (WHERE e.last_reason IS NOT NULL))[1],
        (pg_catalog.array_agg(e.last_reason ORDER BY e.attempts DESC) FILTER (WHERE e.last_reason IS NOT NULL))[1],
        (pg_catalog.array_agg(e.apns_unique_ids) FILTER (WHERE e.apns_unique_ids IS NOT NULL))[1],
        coalesce(pg_catalog.min(e.created_at), pg_catalog.now())
    FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NOT NULL GROUP BY e.message_id ORDER BY e.message_id
    ON CONFLICT (app_id, message_id) DO UPDATE SET
        remaining = u.remaining + excluded.remaining, sent = u.sent + excluded.sent, failed = u.failed + excluded.failed,
        expired = u.expired + excluded.expired, cancelled = u.cancelled + excluded.cancelled,
        attempts = greatest(u.attempts, excluded.attempts),
        last_status = CASE WHEN excluded.last_reason IS NULL THEN u.last_status ELSE excluded.last_status END,
        last_reason = coalesce(excluded.last_reason, u.last_reason),
        apns_unique_ids = CASE WHEN u.apns_unique_ids IS NULL THEN excluded.apns_unique_ids
            ELSE pg_catalog.jsonb_concat(u.apns_unique_ids, coalesce(excluded.apns_unique_ids, '{}')) END;
    WITH finished AS (
        DELETE FROM carillon.unfinished u
        WHERE u.app_id = end_messages.app AND u.remaining <= 0
            AND u.message_id = ANY (ARRAY(SELECT e.message_id FROM pg_catalog.unnest(endings) AS e))
        RETURNING u.*
    )
    INSERT INTO carillon.results
        (message_id, app_id, reference, broadcast_id, sent, failed, expired, cancelled, attempts, created_at, worker_id,
        last_status, last_reason, apns_unique_ids)
    SELECT f.message_id, f.app_id, f.reference, f.broadcast_id, f.sent, f.failed, f.expired, f.cancelled, f.attempts,
        f.created_at, end_messages.worker, f.last_status, f.last_reason, f.apns_unique_ids
    FROM finished f;
END
$$;
COMMENT ON FUNCTION carillon.end_messages IS 'Internal: records pushes that have ended, in results or unfinished.';

-- Of a token that it names twice, in upper or lower case, the first counts, as when a claim is read.
CREATE OR REPLACE FUNCTION carillon.payloads_of(job carillon.job, chosen text[]) RETURNS json[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN CASE WHEN job.payloads IS NOT NULL THEN ARRAY(
        SELECT p.payload FROM unnest(chosen) WITH ORDINALITY AS c(token, place) LEFT JOIN (
            SELECT DISTINCT ON (1) lower(coalesce(u.token, '') COLLATE "C") AS token, u.payload
            FROM unnest(job.tokens, job.payloads) WITH ORDINALITY AS u(token, payload, place) ORDER BY 1, u.place
        ) AS p ON p.token = lower(coalesce(c.token, '') COLLATE "C")
        ORDER BY c.place) END;
END
$$;
COMMENT ON FUNCTION carillon.payloads_of IS
    'Internal: the payloads that a job has for these tokens; null: all tokens have its one payload.';

-- A field that is added to the type later is null in the jobs of older programs. Neither this function nor the next has settings,
-- so that PostgreSQL puts their bodies in place of the calls.
CREATE OR REPLACE FUNCTION carillon.job(id bigint, lane smallint, tokens text[], payload json, payloads json[] DEFAULT NULL,
    push_type text DEFAULT 'alert', priority smallint DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    collapse_id text DEFAULT NULL, topic text DEFAULT NULL, reference text DEFAULT NULL, on_unknown text DEFAULT 'retry',
    attempt smallint DEFAULT 1, claims smallint DEFAULT 0, origin bigint DEFAULT NULL, broadcast_id bigint DEFAULT NULL,
    created_at timestamptz DEFAULT NULL, last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference, on_unknown,
        attempt, claims, origin, broadcast_id, created_at, last_status, last_reason)::carillon.job
$$;
COMMENT ON FUNCTION carillon.job IS 'Internal: a job, by the names of its fields.';

-- A reason replaces the status too.
CREATE OR REPLACE FUNCTION carillon.changed(job carillon.job, id bigint DEFAULT NULL, tokens text[] DEFAULT NULL,
    payloads json[] DEFAULT NULL, attempt smallint DEFAULT NULL, claims smallint DEFAULT NULL, origin bigint DEFAULT NULL,
    last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.job(id => coalesce(id, job.id), lane => job.lane, tokens => coalesce(tokens, job.tokens),
        payload => job.payload, payloads => coalesce(payloads, job.payloads), push_type => job.push_type,
        priority => job.priority, expires_at => job.expires_at, collapse_id => job.collapse_id, topic => job.topic,
        reference => job.reference, on_unknown => job.on_unknown, attempt => coalesce(attempt, job.attempt),
        claims => coalesce(claims, job.claims), origin => coalesce(origin, job.origin), broadcast_id => job.broadcast_id,
        created_at => job.created_at, last_status => CASE WHEN last_reason IS NULL THEN job.last_status ELSE last_status END,
        last_reason => coalesce(last_reason, job.last_reason))
$$;
COMMENT ON FUNCTION carillon.changed IS 'Internal: the same job with other values in the named fields; null keeps a value.';

CREATE OR REPLACE FUNCTION carillon.narrowed(job carillon.job, chosen text[]) RETURNS carillon.job
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    job.payloads := carillon.payloads_of(job, chosen);
    job.tokens := chosen;
    RETURN job;
END
$$;
COMMENT ON FUNCTION carillon.narrowed IS 'Internal: the same job with some of its tokens.';

-- One row for a message and day, and of jobs with a payload for each token one row each time. It pins no search_path.
CREATE OR REPLACE FUNCTION carillon.keep_failed(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    today CONSTANT timestamptz :=
        pg_catalog.date_trunc('day', pg_catalog.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
BEGIN
    INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, priority, expires_at,
        collapse_id, topic, reference, on_unknown)
    SELECT DISTINCT ON (coalesce(j.origin, j.id)) coalesce(j.origin, j.id), keep_failed.app, j.lane, j.payload,
        j.push_type, j.priority, j.expires_at, j.collapse_id, j.topic, j.reference, j.on_unknown
    FROM pg_catalog.unnest(jobs) AS j
    WHERE j.payloads IS NULL AND NOT EXISTS (
        SELECT FROM carillon.failed_messages k
        WHERE k.app_id = keep_failed.app AND k.message_id = coalesce(j.origin, j.id) AND k.failed_at >= today)
    ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM pg_catalog.unnest(jobs) AS j WHERE j.payloads IS NOT NULL) THEN
        INSERT INTO carillon.failed_messages AS k (message_id, app_id, lane, tokens, payloads, push_type, priority,
            expires_at, collapse_id, topic, reference, on_unknown)
        SELECT coalesce(j.origin, j.id), keep_failed.app, pg_catalog.min(j.lane),
            pg_catalog.array_agg(pg_catalog.lower(t.token COLLATE pg_catalog."C")), pg_catalog.array_agg(t.payload),
            pg_catalog.min(j.push_type), pg_catalog.min(j.priority), pg_catalog.min(j.expires_at),
            pg_catalog.min(j.collapse_id), pg_catalog.min(j.topic), pg_catalog.min(j.reference),
            pg_catalog.min(j.on_unknown)
        FROM pg_catalog.unnest(jobs) AS j, unnest(j.tokens, j.payloads) AS t(token, payload)
        WHERE j.payloads IS NOT NULL AND t.token IS NOT NULL AND t.payload IS NOT NULL
        GROUP BY coalesce(j.origin, j.id)
        -- Another worker, or an earlier call of this transaction, at the same time.
        ON CONFLICT (app_id, message_id, failed_at) DO UPDATE SET
            tokens = pg_catalog.array_cat(k.tokens, excluded.tokens),
            payloads = pg_catalog.array_cat(k.payloads, excluded.payloads);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.keep_failed IS 'Internal: keeps the content of failed jobs for requeue_failures().';

-- 'before': no other worker can have had it, so an earlier attempt without an answer has settled it. 'lost': another worker has
-- taken it over.
CREATE OR REPLACE FUNCTION carillon.unsettled(app integer, claim bigint, worker bigint, claimed timestamptz, part_number smallint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN EXISTS (SELECT FROM carillon.workers w WHERE w.id = unsettled.worker)
        OR EXISTS (
            SELECT FROM carillon.inflight f
            WHERE f.app_id = unsettled.app AND f.id = claim AND f.worker_id = unsettled.worker
                AND f.claimed_at = claimed AND f.part > part_number)
        THEN 'before' ELSE 'lost' END
$$;
COMMENT ON FUNCTION carillon.unsettled IS 'Internal: why a claim was not there to be settled: before or lost.';

-- From the worker, or from the jobs that it held.
CREATE OR REPLACE FUNCTION carillon.last_attempts(
    held carillon.job[], messages bigint[], expired integer[], given_status smallint[], given_reason text[],
    OUT status smallint[], OUT reason text[]
)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(CASE WHEN m.reason IS NULL THEN k.last_status ELSE m.status END ORDER BY m.place),
        array_agg(coalesce(m.reason, k.last_reason) ORDER BY m.place)
    FROM unnest(messages, expired, given_status, given_reason) WITH ORDINALITY AS m(id, expired, status, reason, place)
    LEFT JOIN (
        SELECT DISTINCT ON (coalesce(j.origin, j.id)) coalesce(j.origin, j.id) AS id, j.last_status, j.last_reason
        FROM unnest(held) AS j WHERE j.last_reason IS NOT NULL ORDER BY coalesce(j.origin, j.id), j.attempt DESC
    ) AS k ON k.id = m.id AND m.expired > 0
$$;
COMMENT ON FUNCTION carillon.last_attempts IS 'Internal: the last outcome of messages that have expired.';

CREATE OR REPLACE FUNCTION carillon.unique_ids_of(messages bigint[], identified bigint[], tokens text[], ids uuid[]) RETURNS jsonb[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(i.ids ORDER BY m.place), '{}') FROM unnest(messages) WITH ORDINALITY AS m(id, place)
    LEFT JOIN (
        SELECT u.message, jsonb_object_agg(u.token, u.id) AS ids FROM unnest(identified, tokens, unique_ids_of.ids)
            AS u(message, token, id)
        GROUP BY u.message
    ) AS i ON i.message = m.id
$$;
COMMENT ON FUNCTION carillon.unique_ids_of IS
    'Internal: for each of the messages, the apns-unique-ids of its tokens as an object; null: none.';

-- What is settled leaves its row in the same statement, and the row's settlement number grows by one; the row itself goes with
-- its last job. So a second attempt changes nothing, and neither does a settlement of a claim that was taken over: it returns
-- unsettled() in place of 'written'. The time of the claim belongs to the fence, because a crash of the database can undo a claim
-- and give its id to another.
--
-- Each group of arrays is a table whose columns have the same length; a column with only default values may be empty. A job that
-- returns whole keeps its id; the open tokens of one that has ended in part become a job with a new id. A job of which some
-- tokens stay in flight keeps its id, and becomes a part of the message of that id.
CREATE OR REPLACE FUNCTION carillon.settle(
    app integer, claim bigint, worker bigint, claimed timestamptz, part_number smallint,
    ended bigint[], ended_reference text[], ended_broadcast bigint[], ended_sent integer[], ended_failed integer[],
    ended_expired integer[], ended_attempts smallint[],
    part bigint[], part_reference text[], part_broadcast bigint[], part_returned integer[], part_sent integer[],
    part_failed integer[], part_expired integer[], part_attempts smallint[],
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_attempt smallint[],
    dead text[], dead_since timestamptz[], dead_reason text[],
    again bigint[], again_whole boolean[], again_attempt smallint[], again_after integer[],  -- milliseconds; null: at once
    again_place integer[], again_token text[],  -- the tokens, each with the place of its job in again, from 1
    kept bigint[], kept_whole boolean[], kept_place integer[], kept_token text[],  -- what stays in flight, likewise
    again_status smallint[] DEFAULT '{}', again_reason text[] DEFAULT '{}',  -- why again; null: as it was
    unanswered bigint[] DEFAULT '{}',  -- messages of which an attempt ended without an answer, and that may be sent again
    -- Of pushes that have expired: the outcome of the last attempt.
    ended_status smallint[] DEFAULT '{}', ended_reason text[] DEFAULT '{}',
    part_status smallint[] DEFAULT '{}', part_reason text[] DEFAULT '{}',
    -- The apns-unique-ids, if they are to be kept: of what has failed, and of tokens that were sent with their messages.
    failed_unique_id uuid[] DEFAULT '{}',
    identified bigint[] DEFAULT '{}', identified_token text[] DEFAULT '{}', identified_unique_id uuid[] DEFAULT '{}',
    ended_created timestamptz[] DEFAULT '{}', part_created timestamptz[] DEFAULT '{}'  -- when they were enqueued
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- Dead tokens are not sent again.
    keeps CONSTANT boolean := EXISTS (SELECT FROM unnest(failed_status) AS f(status) WHERE f.status IS DISTINCT FROM 410);
    -- Something has expired: the jobs have the outcome of the attempt before.
    is_late CONSTANT boolean := 0 < ANY (ended_expired) OR 0 < ANY (part_expired);
    held carillon.job[];
    checked record;
    at_once carillon.job[];
    later carillon.job[];
    waits integer[];
    cancelled carillon.cancelled_job[];
    requeueable carillon.job[];
    ended_unique_ids jsonb[] := '{}';
    part_unique_ids jsonb[] := '{}';
    path text;
    has_ended CONSTANT boolean := cardinality(ended) > 0;
    has_parts CONSTANT boolean := cardinality(part) > 0;
    has_failed CONSTANT boolean := cardinality(failed) > 0;
    has_dead CONSTANT boolean := cardinality(dead) > 0;
    has_bad_tokens CONSTANT boolean := '{BadDeviceToken}' && failed_reason;
    has_bad_channels CONSTANT boolean := '{ChannelNotRegistered,BadChannelId}' && failed_reason;
    has_again CONSTANT boolean := cardinality(again) > 0;
BEGIN
    IF cardinality(kept) > 0 THEN
        SELECT f.jobs INTO held FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed AND f.part = part_number
        FOR UPDATE;
        UPDATE carillon.inflight f SET part = f.part + 1, jobs = ARRAY(
            SELECT CASE WHEN k.whole THEN j ELSE carillon.changed(j, tokens => t.list,
                payloads => carillon.payloads_of(j, t.list), origin => coalesce(j.origin, j.id)) END
            FROM unnest(kept, kept_whole) WITH ORDINALITY AS k(id, whole, place)
            JOIN unnest(held) AS j ON j.id = k.id
            LEFT JOIN (
                SELECT u.place, array_agg(u.token) AS list FROM unnest(kept_place, kept_token) AS u(place, token)
                GROUP BY u.place) AS t ON t.place = k.place
            ORDER BY k.place)
        WHERE held IS NOT NULL AND f.app_id = app AND f.id = claim;
    ELSIF keeps OR is_late OR cardinality(again) > 0 THEN
        DELETE FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed AND f.part = part_number
        RETURNING f.jobs INTO held;
    ELSE
        DELETE FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed AND f.part = part_number;
    END IF;
    IF NOT FOUND THEN
        RETURN carillon.unsettled(app, claim, worker, claimed, part_number);
    END IF;
    IF cardinality(unanswered) > 0 THEN
        INSERT INTO carillon.unknown_outcomes (app_id, message_id)
        SELECT DISTINCT app, u.id FROM unnest(unanswered) AS u(id);
    END IF;
    IF cardinality(again) > 0 THEN
        SELECT o.* INTO checked FROM (
            SELECT array_agg(coalesce(j.origin, j.id)) AS messages, array_agg(j.broadcast_id) AS broadcasts
            FROM unnest(held) AS j WHERE j.id = ANY (again)
        ) AS a, carillon.find_cancelled(app, a.messages, a.broadcasts, part,
            requeues => cardinality(again_after) < cardinality(again) OR array_position(again_after, NULL) IS NOT NULL
        ) AS o;
    END IF;
    IF is_late THEN
        SELECT l.status, l.reason INTO ended_status, ended_reason
        FROM carillon.last_attempts(held, ended, ended_expired, ended_status, ended_reason) AS l;
        SELECT l.status, l.reason INTO part_status, part_reason
        FROM carillon.last_attempts(held, part, part_expired, part_status, part_reason) AS l;
    END IF;
    IF cardinality(identified) > 0 THEN
        ended_unique_ids := carillon.unique_ids_of(ended, identified, identified_token, identified_unique_id);
        part_unique_ids := carillon.unique_ids_of(part, identified, identified_token, identified_unique_id);
    END IF;
    IF keeps THEN
        requeueable := ARRAY(
            SELECT CASE WHEN j.payloads IS NULL THEN j ELSE carillon.narrowed(j, ARRAY(
                SELECT f.token FROM unnest(failed, failed_token, failed_status) AS f(id, token, status)
                WHERE f.id = coalesce(j.origin, j.id) AND f.status IS DISTINCT FROM 410)) END
            FROM unnest(held) AS j WHERE coalesce(j.origin, j.id) IN (
                SELECT f.id FROM unnest(failed, failed_status) AS f(id, status) WHERE f.status IS DISTINCT FROM 410));
    END IF;
    IF cardinality(again) > 0 THEN
        WITH tokens AS (
            SELECT t.place, array_agg(t.token) AS list FROM unnest(again_place, again_token) AS t(place, token)
            GROUP BY t.place
        ), job AS (
            SELECT a.after, coalesce(j.origin, j.id) = ANY (checked.cancelled) AS is_cancelled, carillon.changed(j,
                id => CASE WHEN NOT a.whole THEN nextval('carillon.messages_id_seq') END, tokens => t.list,
                payloads => CASE WHEN t.list IS NOT NULL AND j.payloads IS NOT NULL THEN carillon.payloads_of(j, t.list) END,
                attempt => a.attempt, claims => 0::smallint,
                origin => CASE WHEN NOT a.whole THEN coalesce(j.origin, j.id) END,
                last_status => a.status, last_reason => a.reason) AS made
            FROM unnest(again, again_whole, again_attempt, again_after, again_status, again_reason) WITH ORDINALITY
                AS a(id, whole, attempt, after, status, reason, place)
            JOIN unnest(held) AS j ON j.id = a.id
            LEFT JOIN tokens t ON t.place = a.place
        )
        SELECT array_agg(j.made) FILTER (WHERE j.after IS NULL AND NOT j.is_cancelled),
            array_agg(j.made) FILTER (WHERE j.after IS NOT NULL AND NOT j.is_cancelled),
            array_agg(j.after) FILTER (WHERE j.after IS NOT NULL AND NOT j.is_cancelled),
            array_agg(carillon.as_cancelled(j.made)) FILTER (WHERE j.is_cancelled)
        INTO at_once, later, waits, cancelled FROM job j;
    END IF;

    -- own_path() without its two calls, on the hot path.
    path := pg_catalog.set_config('search_path', NULL, true);
    IF has_ended THEN
        INSERT INTO carillon.results
            (message_id, app_id, reference, broadcast_id, sent, failed, expired, attempts, created_at, worker_id,
            last_status, last_reason, apns_unique_ids)
        SELECT e.id, app, e.reference, e.broadcast, coalesce(e.sent, 1), coalesce(e.failed, 0), coalesce(e.expired, 0),
            coalesce(e.attempts, 1), e.created_at, worker, e.status, e.reason, e.unique_ids
        FROM unnest(ended, ended_reference, ended_broadcast, ended_sent, ended_failed, ended_expired, ended_attempts,
                ended_created, ended_status, ended_reason, ended_unique_ids)
            AS e(id, reference, broadcast, sent, failed, expired, attempts, created_at, status, reason, unique_ids);
    END IF;
    IF has_parts THEN
        PERFORM carillon.end_messages(app, ARRAY(
            SELECT carillon.ending(message_id => p.id, reference => p.reference, broadcast_id => p.broadcast,
                created_at => p.created_at, attempts => p.attempts, sent => p.sent, failed => p.failed, expired => p.expired,
                remaining => p.returned, last_status => p.status, last_reason => p.reason, apns_unique_ids => p.unique_ids)
            FROM unnest(part, part_reference, part_broadcast, part_created, part_attempts, part_sent, part_failed, part_expired,
                    part_returned, part_status, part_reason, part_unique_ids)
                AS p(id, reference, broadcast, created_at, attempts, sent, failed, expired, returned, status, reason,
                    unique_ids)), worker);
    END IF;
    IF has_failed THEN
        INSERT INTO carillon.failures
            (message_id, app_id, reference, token, status, reason, unregistered_at, apns_id, attempt, apns_unique_id)
        SELECT f.id, app, f.reference, f.token, f.status, f.reason, f.unregistered_at, f.apns_id, f.attempt, f.unique_id
        FROM unnest(failed, failed_reference, failed_token, failed_status, failed_reason, failed_unregistered_at,
                failed_apns_id, failed_attempt, failed_unique_id)
            AS f(id, reference, token, status, reason, unregistered_at, apns_id, attempt, unique_id);
    END IF;
    IF keeps THEN
        PERFORM carillon.keep_failed(app, requeueable);
    END IF;
    IF has_dead THEN
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, source)
        SELECT app, d.token, d.unregistered_at, d.reason, 'http2'
        FROM unnest(dead, dead_since, dead_reason) AS d(token, unregistered_at, reason);
    END IF;
    IF has_bad_tokens THEN
        -- BadDeviceToken has no time: the token was dead at the claim.
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, source)
        SELECT app, f.token, claimed, f.reason, 'http2' FROM unnest(failed_token, failed_status, failed_reason)
            AS f(token, status, reason)
        WHERE f.status = 400 AND f.reason = 'BadDeviceToken'
            AND (SELECT a.reap_bad_tokens FROM carillon.apps a WHERE a.id = app);
    END IF;
    IF has_bad_channels THEN
        PERFORM carillon.channels_refused(app, failed_token, failed_reason);
    END IF;
    IF has_again THEN
        PERFORM carillon.record_cancelled(app, cancelled) WHERE cancelled IS NOT NULL;
        PERFORM carillon.restore(app, at_once, '{}', checked.unsure) WHERE at_once IS NOT NULL;
        PERFORM carillon.put_back(app, later, waits) WHERE later IS NOT NULL;
    END IF;
    RETURN 'written';
END
$$;
COMMENT ON FUNCTION carillon.settle IS 'Internal: records the outcomes of a claim, or of some of it, once.';
