-- Records the outcomes of a claim. A worker calls settle() when pushes of a claim have ended. It locks the row of inflight, then
-- rows of unfinished in order of id. A settlement names the worker and its claim. This is the fence: after a takeover it writes
-- nothing.
--
-- settle() is at the end of this file. It calls, in this order:
-- - take_from_claim(): checks the fence, and takes the settled jobs out of the claim; why_unsettled(): says why it took none
-- - find_cancelled_going_back(): finds which messages were cancelled meanwhile
-- - outcomes_before_expiry(), unique_ids_of(): compute columns of results
-- - record_ended(): writes results and unfinished, from rows of endings(): see record_ended.sql
-- - record_sent(): writes pushes that the app keeps: see sent_pushes.sql
-- - record_failed(): writes failures and feedback; keep_requeueable(): keeps what can be requeued
-- - return_going_back(): returns jobs to the queue

-- why_unsettled() returns 'lost' if another worker has taken the claim over. It returns 'before' if an earlier call settled the
-- claim but its answer was lost. That must be so if the worker still has its row of workers, or if the claim still has its row of
-- inflight: nothing can then have been taken over.
--
-- In a copy of the database, to which a pooler may lead, it fails like a server that is not ready: the worker asks again, and by
-- then may have reached the original, which has the claim.
CREATE OR REPLACE FUNCTION carillon.why_unsettled(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint
) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    fault CONSTANT text := carillon.installation_fault();
BEGIN
    IF fault IS NOT NULL THEN
        RAISE cannot_connect_now USING MESSAGE = fault;
    END IF;
    RETURN CASE WHEN EXISTS (SELECT FROM carillon.workers w WHERE w.id = why_unsettled.worker)
        OR EXISTS (
            SELECT FROM carillon.inflight f
            WHERE f.app_id = why_unsettled.app AND f.id = claim AND f.worker_id = why_unsettled.worker
                AND f.claimed_at = claimed AND f.settlements > settlement_number)
        THEN 'before' ELSE 'lost' END;
END
$$;
COMMENT ON FUNCTION carillon.why_unsettled IS 'Internal: returns why a claim could not be settled: before or lost.';

-- The last outcome of a message is the one that the worker reports, or else the one that the jobs of the claim have.
CREATE OR REPLACE FUNCTION carillon.outcomes_before_expiry(
    claimed_jobs carillon.job[], messages bigint[], expired integer[], given_status smallint[], given_reason text[],
    OUT status smallint[], OUT reason text[]
)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(CASE WHEN m.reason IS NULL THEN k.last_status ELSE m.status END ORDER BY m.place),
        array_agg(coalesce(m.reason, k.last_reason) ORDER BY m.place)
    FROM unnest(messages, expired, given_status, given_reason) WITH ORDINALITY AS m(id, expired, status, reason, place)
    LEFT JOIN (
        SELECT DISTINCT ON (coalesce(j.origin, j.id)) coalesce(j.origin, j.id) AS id, j.last_status, j.last_reason
        FROM unnest(claimed_jobs) AS j WHERE j.last_reason IS NOT NULL ORDER BY coalesce(j.origin, j.id), j.attempt DESC
    ) AS k ON k.id = m.id AND m.expired > 0
$$;
COMMENT ON FUNCTION carillon.outcomes_before_expiry IS 'Internal: returns the last outcome of messages that have expired.';

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
    'Internal: returns for each message the apns-unique-ids of its tokens as an object; null if it has none.';

-- endings() has no SET clause, so that PostgreSQL inlines it: no composite value is made unless the caller wants one. The defaults
-- are those of empty columns.
CREATE OR REPLACE FUNCTION carillon.endings(
    messages bigint[], remaining integer[], reference text[], broadcast bigint[], created timestamptz[], sent integer[],
    failed integer[], expired integer[], attempts smallint[], status smallint[], reason text[], unique_ids jsonb[]
) RETURNS SETOF carillon.ending
LANGUAGE sql IMMUTABLE AS $$
    SELECT e.message_id, e.reference, e.broadcast_id, e.created_at, coalesce(e.attempts, 1)::integer, coalesce(e.sent, 1),
        coalesce(e.failed, 0), coalesce(e.expired, 0), 0, e.remaining, e.status, e.reason, e.unique_ids
    FROM unnest(messages, remaining, reference, broadcast, created, sent, failed, expired, attempts, status, reason, unique_ids)
        AS e(message_id, remaining, reference, broadcast_id, created_at, sent, failed, expired, attempts, status, reason,
            unique_ids)
$$;
COMMENT ON FUNCTION carillon.endings IS 'Internal: returns how messages have ended, from the columns of settle().';

-- take_from_claim() takes the settled jobs out of the claim's row, and increments its settlement number in the same statement; the
-- row is deleted with its last job. So a second settlement changes nothing, and neither does a settlement of a claim that was taken
-- over: for both it returns null. The time of the claim is part of the fence, because a crash of the database can undo a claim and
-- give its id to another. A claim with stops is refused too: see settle_stopped().
--
-- It pins no search_path, because that would slow each settlement: its names have schemas, as after use_session_path().
CREATE OR REPLACE FUNCTION carillon.take_from_claim(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint, needs_jobs boolean,
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[]
) RETURNS carillon.job[]
LANGUAGE plpgsql AS $$
DECLARE
    claimed_jobs carillon.job[];
BEGIN
    IF pg_catalog.cardinality(staying) > 0 THEN
        SELECT f.jobs INTO claimed_jobs FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
            AND f.settlements = settlement_number AND f.stops IS NULL FOR UPDATE;
        UPDATE carillon.inflight f SET settlements = f.settlements + 1, jobs = ARRAY(
            SELECT CASE WHEN k.whole THEN j ELSE carillon.changed_job(j, tokens => t.list,
                payloads => carillon.payloads_of(j, t.list), origin => coalesce(j.origin, j.id)) END
            FROM unnest(staying, staying_whole) WITH ORDINALITY AS k(id, whole, place)
            JOIN pg_catalog.unnest(claimed_jobs) AS j ON j.id = k.id
            LEFT JOIN (
                SELECT u.place, pg_catalog.array_agg(u.token) AS list
                FROM unnest(staying_place, staying_token) AS u(place, token) GROUP BY u.place) AS t ON t.place = k.place
            ORDER BY k.place)
        WHERE claimed_jobs IS NOT NULL AND f.app_id = app AND f.id = claim;
    ELSE
        DELETE FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
            AND f.settlements = settlement_number AND f.stops IS NULL
        RETURNING CASE WHEN needs_jobs THEN f.jobs ELSE '{}' END INTO claimed_jobs;
    END IF;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- Returned as a variable, an array is not copied.
    RETURN claimed_jobs;
END
$$;
COMMENT ON FUNCTION carillon.take_from_claim IS
    'Internal: removes from a claim all jobs but those that stay. Returns the jobs that it had, perhaps none of them if needs_jobs '
    'is false, and null if the claim has stops, was settled before or taken over.';

-- If any message was cancelled, find_cancelled() also locks the rows of unfinished of messages in `ended`: all in one pass, because
-- record_ended() would lock them later.
CREATE OR REPLACE FUNCTION carillon.find_cancelled_going_back(
    app integer, claimed_jobs carillon.job[], ended bigint[], going_back bigint[], going_back_after integer[],
    OUT cancelled bigint[], OUT unsure bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    SELECT o.cancelled, o.unsure INTO cancelled, unsure FROM (
        SELECT array_agg(coalesce(j.origin, j.id)) AS messages, array_agg(j.broadcast_id) AS broadcasts
        FROM unnest(claimed_jobs) AS j WHERE j.id = ANY (going_back)
    ) AS a, carillon.find_cancelled(app, a.messages, a.broadcasts, ended,
        requeues => cardinality(going_back_after) < cardinality(going_back)
            OR array_position(going_back_after, NULL) IS NOT NULL
    ) AS o;
END
$$;
COMMENT ON FUNCTION carillon.find_cancelled_going_back IS
    'Internal: returns which messages of jobs that go back to the queue were cancelled, and which are being cancelled.';

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.dead_status() RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 410::smallint $$;
COMMENT ON FUNCTION carillon.dead_status IS 'Internal: returns the status with which APNs answers a push to a dead token.';

-- Pushes to dead tokens are not requeued, so their content need not be kept. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.keep_requeueable(
    app integer, claimed_jobs carillon.job[], failed bigint[], failed_token text[], failed_status smallint[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM carillon.keep_failed_content(app, ARRAY(
        SELECT CASE WHEN j.payloads IS NULL THEN j ELSE carillon.narrowed_job(j, pushes.tokens) END
        FROM (
            SELECT f.id, pg_catalog.array_agg(f.token) AS tokens
            FROM unnest(failed, failed_token, failed_status) AS f(id, token, status)
            WHERE f.status IS DISTINCT FROM carillon.dead_status() GROUP BY f.id
        ) AS pushes JOIN pg_catalog.unnest(claimed_jobs) AS j ON coalesce(j.origin, j.id) = pushes.id));
END
$$;
COMMENT ON FUNCTION carillon.keep_requeueable IS
    'Internal: keeps the content of failed pushes for requeue_failures(), except that of pushes to dead tokens.';

-- Also records dead tokens, and channels that Apple does not know. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.record_failed(
    app integer, claimed timestamptz, claimed_jobs carillon.job[], has_requeueable boolean,
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_unique_id uuid[], failed_attempt smallint[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO carillon.failures
        (message_id, app_id, reference, token, status, reason, unregistered_at, apns_id, attempt, apns_unique_id)
    SELECT f.id, app, f.reference, f.token, f.status, f.reason, f.unregistered_at, f.apns_id, f.attempt, f.unique_id
    FROM unnest(failed, failed_reference, failed_token, failed_status, failed_reason, failed_unregistered_at,
            failed_apns_id, failed_attempt, failed_unique_id)
        AS f(id, reference, token, status, reason, unregistered_at, apns_id, attempt, unique_id);
    IF has_requeueable THEN
        PERFORM carillon.keep_requeueable(app, claimed_jobs, failed, failed_token, failed_status);
    END IF;
    IF pg_catalog.cardinality(pg_catalog.array_remove(failed_unregistered_at, NULL)) > 0
        OR 'BadDeviceToken' = ANY (failed_reason)
    THEN
        -- BadDeviceToken has no time of its own: the token was dead when it was claimed.
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, source)
        SELECT app, f.token, coalesce(f.unregistered_at, claimed), f.reason, 'http2'
        FROM unnest(failed_token, failed_reason, failed_unregistered_at) AS f(token, reason, unregistered_at)
        WHERE f.unregistered_at IS NOT NULL OR f.reason = 'BadDeviceToken'
            AND (SELECT a.reap_bad_tokens FROM carillon.apps a WHERE a.id = app);
    END IF;
    IF 'ChannelNotRegistered' = ANY (failed_reason) OR 'BadChannelId' = ANY (failed_reason) THEN
        PERFORM carillon.channels_refused(app, failed_token, failed_reason);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.record_failed IS
    'Internal: records failed pushes, their content, dead tokens, and channels that Apple does not know.';

-- find_cancelled_going_back() has found which jobs are not returned. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.return_going_back(
    app integer, claimed_jobs carillon.job[], cancelled bigint[], unsure bigint[], unknown bigint[],
    going_back bigint[], going_back_whole boolean[], going_back_attempt smallint[], going_back_after integer[],
    going_back_status smallint[], going_back_reason text[], going_back_place integer[], going_back_token text[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    at_once carillon.job[];
    later carillon.job[];
    waits integer[];
    cancelled_jobs carillon.cancelled_job[];
BEGIN
    WITH lists AS (
        SELECT t.place, pg_catalog.array_agg(t.token) AS tokens
        FROM unnest(going_back_place, going_back_token) AS t(place, token) GROUP BY t.place
    ), changed AS (
        SELECT a.after, coalesce(j.origin, j.id) = ANY (cancelled) AS is_cancelled, carillon.changed_job(j,
            id => CASE WHEN NOT a.whole THEN pg_catalog.nextval('carillon.messages_id_seq') END, tokens => l.tokens,
            payloads => CASE WHEN l.tokens IS NOT NULL AND j.payloads IS NOT NULL THEN carillon.payloads_of(j, l.tokens) END,
            attempt => a.attempt, lost_claims => 0::smallint,
            origin => CASE WHEN NOT a.whole THEN coalesce(j.origin, j.id) END,
            last_status => a.status, last_reason => a.reason,
            lane => CASE a.reason WHEN 'BadDeviceToken' THEN (j.lane + 20)::smallint END,
            unknown_attempts => CASE WHEN a.attempt > j.attempt AND coalesce(j.origin, j.id) = ANY (unknown)
                THEN least(coalesce(j.unknown_attempts, 0) + 1, 99)::smallint END) AS job
        FROM unnest(going_back, going_back_whole, going_back_attempt, going_back_after, going_back_status,
                going_back_reason) WITH ORDINALITY
            AS a(id, whole, attempt, after, status, reason, place)
        JOIN pg_catalog.unnest(claimed_jobs) AS j ON j.id = a.id
        LEFT JOIN lists l ON l.place = a.place
    )
    SELECT pg_catalog.array_agg(c.job) FILTER (WHERE c.after IS NULL AND NOT c.is_cancelled),
        pg_catalog.array_agg(c.job) FILTER (WHERE c.after IS NOT NULL AND NOT c.is_cancelled),
        pg_catalog.array_agg(c.after) FILTER (WHERE c.after IS NOT NULL AND NOT c.is_cancelled),
        pg_catalog.array_agg(carillon.as_cancelled(c.job)) FILTER (WHERE c.is_cancelled)
    INTO at_once, later, waits, cancelled_jobs FROM changed c;
    PERFORM carillon.record_cancelled(app, cancelled_jobs) WHERE cancelled_jobs IS NOT NULL;
    PERFORM carillon.return_uncancelled(app, at_once, '{}', unsure) WHERE at_once IS NOT NULL;
    PERFORM carillon.return_jobs(app, later, waits) WHERE later IS NOT NULL;
    PERFORM carillon.learn_environments(app, later) WHERE 'BadDeviceToken' = ANY (going_back_reason);
END
$$;
COMMENT ON FUNCTION carillon.return_going_back IS
    'Internal: returns jobs to the queue with their next attempts, and records those whose messages were cancelled.';

-- A settlement that take_from_claim() refuses returns why_unsettled() instead of 'written', unless the claim has stops.
--
-- Arrays whose names begin alike are the columns of one table: they have the same length, and a column of default values may be
-- empty. They are arrays and not composite values, so that a later version can add a column, with a default, while workers of this
-- version still call. The tables are:
-- - `ended`: messages of which pushes have ended. If a message was one job and all of it has ended, ended_remaining is null.
--   Otherwise it is the number of pushes that unfinished does not count yet. Default values: 1 for sent and attempts, 0 for failed
--   and expired. For pushes that have expired, status and reason are those of the last attempt.
-- - `failed`: pushes that failed, with their messages. Those with a time of death are dead tokens.
-- - `going_back`: jobs that go back to the queue, after some milliseconds, or at once if going_back_after is null. Status and
--   reason say why; null means unchanged. One that goes back whole keeps its id; otherwise the tokens to retry become a job with a
--   new id: going_back_token has them, and going_back_place the position of the job of each in going_back, from 1.
-- - `staying`: jobs that stay in flight. One of which only some tokens stay keeps its id; staying_token has these tokens, as above,
--   and its message is then counted in unfinished.
-- - `unknown`: messages with an attempt whose outcome is unknown and that may be sent again.
-- - `identified`: the apns-unique-ids of tokens that were sent, if the app keeps them.
-- - `expired`: pushes that have expired after an attempt, with their messages. Pushes that were never sent need not be in it.
-- - `kept`: pushes that were sent, with their messages, if the app keeps them.
CREATE OR REPLACE FUNCTION carillon.settle(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint,
    ended bigint[], ended_remaining integer[], ended_reference text[], ended_broadcast bigint[], ended_created timestamptz[],
    ended_sent integer[], ended_failed integer[], ended_expired integer[], ended_attempts smallint[], ended_status smallint[],
    ended_reason text[],
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_unique_id uuid[], failed_attempt smallint[],
    going_back bigint[], going_back_whole boolean[], going_back_attempt smallint[], going_back_after integer[],
    going_back_status smallint[], going_back_reason text[], going_back_place integer[], going_back_token text[],
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[],
    unknown bigint[], identified bigint[], identified_token text[], identified_unique_id uuid[], expired bigint[] DEFAULT '{}',
    expired_token text[] DEFAULT '{}', kept bigint[] DEFAULT '{}', kept_token text[] DEFAULT '{}', kept_apns_id uuid[] DEFAULT '{}'
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    has_ended CONSTANT boolean := cardinality(ended) > 0;
    has_failed CONSTANT boolean := cardinality(failed) > 0;
    has_going_back CONSTANT boolean := cardinality(going_back) > 0;
    -- Whether keep_requeueable() would keep anything. If the statuses are all null, the column is empty.
    has_requeueable CONSTANT boolean := has_failed
        AND (failed_status = '{}' OR (carillon.dead_status() = ALL (failed_status)) IS NOT TRUE);
    -- If pushes have expired, their jobs have the outcome of the previous attempt.
    has_expired CONSTANT boolean := 0 < ANY (ended_expired);
    -- What consumers follow; null if the app has none.
    kinds CONSTANT integer := (SELECT bit_or(s.mask) FROM carillon.subscriptions s WHERE s.app_id = app);
    claimed_jobs carillon.job[];
    cancelled bigint[];
    unsure bigint[];
    ended_unique_ids jsonb[] := '{}';
BEGIN
    claimed_jobs := carillon.take_from_claim(app, claim, worker, claimed, settlement_number, has_requeueable OR has_expired
        OR has_going_back OR kinds IS NOT NULL, staying, staying_whole, staying_place, staying_token);
    IF claimed_jobs IS NULL THEN
        RETURN carillon.settle_stopped(app => app, claim => claim, worker => worker, claimed => claimed,
            settlement_number => settlement_number, ended => ended, ended_remaining => ended_remaining,
            ended_reference => ended_reference, ended_broadcast => ended_broadcast, ended_created => ended_created,
            ended_sent => ended_sent, ended_failed => ended_failed, ended_expired => ended_expired,
            ended_attempts => ended_attempts, ended_status => ended_status, ended_reason => ended_reason, failed => failed,
            failed_reference => failed_reference, failed_token => failed_token, failed_status => failed_status,
            failed_reason => failed_reason, failed_unregistered_at => failed_unregistered_at, failed_apns_id => failed_apns_id,
            failed_unique_id => failed_unique_id, failed_attempt => failed_attempt, going_back => going_back,
            going_back_whole => going_back_whole, going_back_attempt => going_back_attempt, going_back_after => going_back_after,
            going_back_status => going_back_status, going_back_reason => going_back_reason, going_back_place => going_back_place,
            going_back_token => going_back_token, staying => staying, staying_whole => staying_whole,
            staying_place => staying_place, staying_token => staying_token, unknown => unknown, identified => identified,
            identified_token => identified_token, identified_unique_id => identified_unique_id, expired => expired,
            expired_token => expired_token, kept => kept, kept_token => kept_token, kept_apns_id => kept_apns_id);
    END IF;
    IF cardinality(unknown) > 0 THEN
        INSERT INTO carillon.unknown_outcomes (app_id, message_id) SELECT DISTINCT app, u.id FROM unnest(unknown) AS u(id);
    END IF;
    IF has_going_back THEN
        SELECT f.cancelled, f.unsure INTO cancelled, unsure
        FROM carillon.find_cancelled_going_back(app, claimed_jobs, ended, going_back, going_back_after) AS f;
    END IF;
    IF has_expired THEN
        SELECT l.status, l.reason INTO ended_status, ended_reason
        FROM carillon.outcomes_before_expiry(claimed_jobs, ended, ended_expired, ended_status, ended_reason) AS l;
    END IF;
    IF cardinality(identified) > 0 THEN
        ended_unique_ids := carillon.unique_ids_of(ended, identified, identified_token, identified_unique_id);
    END IF;
    -- The second form of use_session_path(): see session_path.sql.
    PERFORM pg_catalog.set_config('search_path', NULL, true);
    IF has_ended AND kinds IS NOT NULL THEN
        PERFORM carillon.note_settled(app => app, kinds => kinds, claimed_jobs => claimed_jobs, ended => ended,
            ended_remaining => ended_remaining, ended_reference => ended_reference, ended_broadcast => ended_broadcast,
            ended_sent => ended_sent, ended_failed => ended_failed, ended_expired => ended_expired, failed => failed,
            failed_token => failed_token, failed_status => failed_status, failed_reason => failed_reason,
            failed_unregistered_at => failed_unregistered_at, claimed => claimed, going_back => going_back,
            going_back_whole => going_back_whole, going_back_place => going_back_place, going_back_token => going_back_token,
            staying => staying, staying_whole => staying_whole, staying_place => staying_place, staying_token => staying_token,
            expired => expired, expired_token => expired_token);
    END IF;
    IF has_ended THEN
        PERFORM carillon.record_ended(app => app, worker => worker, ended => ended, ended_remaining => ended_remaining,
            ended_reference => ended_reference, ended_broadcast => ended_broadcast, ended_created => ended_created,
            ended_sent => ended_sent, ended_failed => ended_failed, ended_expired => ended_expired,
            ended_attempts => ended_attempts, ended_status => ended_status, ended_reason => ended_reason,
            ended_unique_ids => ended_unique_ids);
    END IF;
    IF pg_catalog.cardinality(kept) > 0 THEN
        PERFORM carillon.record_sent(app, kept, kept_token, kept_apns_id);
    END IF;
    IF has_failed THEN
        PERFORM carillon.record_failed(app => app, claimed => claimed, claimed_jobs => claimed_jobs,
            has_requeueable => has_requeueable, failed => failed, failed_reference => failed_reference,
            failed_token => failed_token, failed_status => failed_status, failed_reason => failed_reason,
            failed_unregistered_at => failed_unregistered_at, failed_apns_id => failed_apns_id,
            failed_unique_id => failed_unique_id, failed_attempt => failed_attempt);
    END IF;
    IF has_going_back THEN
        PERFORM carillon.return_going_back(app => app, claimed_jobs => claimed_jobs, cancelled => cancelled, unsure => unsure,
            unknown => unknown, going_back => going_back, going_back_whole => going_back_whole,
            going_back_attempt => going_back_attempt, going_back_after => going_back_after, going_back_status => going_back_status,
            going_back_reason => going_back_reason, going_back_place => going_back_place, going_back_token => going_back_token);
    END IF;
    RETURN 'written';
END
$$;
COMMENT ON FUNCTION carillon.settle IS
    'Internal: records the outcomes of a claim, or of a part of it, once. Arguments whose names begin alike are the columns of one '
    'table: ended messages, failed pushes, jobs that go back to the queue, jobs that stay in flight, and apns-unique-ids.';
