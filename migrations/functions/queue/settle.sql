-- Records the outcomes of a claim. A worker calls settle() when pushes of a claim have ended. It locks the row of inflight, then
-- rows of unfinished in order of id. A settlement names the worker and its claim. This is the fence: after a takeover it writes
-- nothing.

-- why_unsettled() returns 'lost' if another worker has taken the claim over. It returns 'before' if an earlier call settled the
-- claim but its answer was lost. That must be so if the worker still has its row of workers, or if the claim still has its row of
-- inflight: nothing can then have been taken over.
CREATE OR REPLACE FUNCTION carillon.why_unsettled(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint
) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN EXISTS (SELECT FROM carillon.workers w WHERE w.id = why_unsettled.worker)
        OR EXISTS (
            SELECT FROM carillon.inflight f
            WHERE f.app_id = why_unsettled.app AND f.id = claim AND f.worker_id = why_unsettled.worker
                AND f.claimed_at = claimed AND f.settlements > settlement_number)
        THEN 'before' ELSE 'lost' END
$$;
COMMENT ON FUNCTION carillon.why_unsettled IS 'Internal: returns why a claim could not be settled: before or lost.';

-- The last outcome of a message is the one that the worker reports, or else the one that the jobs of the claim hold.
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

-- Jobs that are settled leave the claim's row in the same statement, which also increments its settlement number; the row is
-- deleted with its last job. So a second settlement changes nothing, and neither does a settlement of a claim that was taken over:
-- both return why_unsettled() instead of 'written'. The time of the claim is part of the fence, because a crash of the database can
-- undo a claim and give its id to another.
--
-- Arrays whose names begin alike are the columns of one table: they have the same length, and a column of default values may be
-- empty. They are arrays and not composite values, so that a later version can add a column, with a default, while workers of this
-- version still call.
CREATE OR REPLACE FUNCTION carillon.settle(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint,
    -- Messages of which pushes have ended. If a message was one job and all of it has ended, ended_remaining is null. Otherwise it
    -- is the number of pushes that unfinished does not count yet.
    ended bigint[], ended_remaining integer[], ended_reference text[], ended_broadcast bigint[], ended_created timestamptz[],
    ended_sent integer[],  -- if empty, 1 each
    ended_failed integer[], ended_expired integer[],  -- if empty, 0 each
    ended_attempts smallint[],  -- if empty, 1 each
    ended_status smallint[], ended_reason text[],  -- for pushes that have expired: the outcome of the last attempt
    -- Pushes that failed, with their messages. Those with a time of death are dead tokens.
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_unique_id uuid[], failed_attempt smallint[],
    -- Jobs that go back to the queue. One that goes back whole keeps its id; otherwise the tokens to retry become a job with a new
    -- id.
    going_back bigint[], going_back_whole boolean[], going_back_attempt smallint[],
    going_back_after integer[],  -- milliseconds; null means at once
    going_back_status smallint[], going_back_reason text[],  -- why the job goes back; null means unchanged
    going_back_place integer[], going_back_token text[],  -- the tokens, each with the position of its job in going_back, from 1
    -- Jobs that stay in flight. One of which only some tokens stay keeps its id; its message is then counted in
    -- unfinished.
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[],
    unanswered bigint[],  -- messages with an attempt whose outcome is unknown and that may be sent again
    -- The apns-unique-ids of tokens that were sent, if the app keeps them.
    identified bigint[], identified_token text[], identified_unique_id uuid[]
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    has_ended CONSTANT boolean := cardinality(ended) > 0;
    -- Whether messages are counted in unfinished.
    has_counted CONSTANT boolean := cardinality(array_remove(ended_remaining, NULL)) > 0;
    has_failed CONSTANT boolean := cardinality(failed) > 0;
    has_dead CONSTANT boolean := cardinality(array_remove(failed_unregistered_at, NULL)) > 0;
    has_bad_tokens CONSTANT boolean := '{BadDeviceToken}' && failed_reason;
    has_bad_channels CONSTANT boolean := '{ChannelNotRegistered,BadChannelId}' && failed_reason;
    has_going_back CONSTANT boolean := cardinality(going_back) > 0;
    has_staying CONSTANT boolean := cardinality(staying) > 0;
    -- Pushes to dead tokens are not requeued, so their content need not be kept.
    dead_status CONSTANT smallint := 410;
    has_requeueable CONSTANT boolean := has_failed AND (failed_status = '{}' OR (dead_status = ALL (failed_status)) IS NOT TRUE);
    -- If pushes have expired, their jobs hold the outcome of the previous attempt.
    has_expired CONSTANT boolean := 0 < ANY (ended_expired);
    needs_jobs CONSTANT boolean := has_requeueable OR has_expired OR has_going_back;
    claimed_jobs carillon.job[];
    checked record;
    at_once carillon.job[];
    later carillon.job[];
    waits integer[];
    cancelled carillon.cancelled_job[];
    requeueable carillon.job[];
    ended_unique_ids jsonb[] := '{}';
BEGIN
    IF has_staying THEN
        SELECT f.jobs INTO claimed_jobs FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
            AND f.settlements = settlement_number FOR UPDATE;
        UPDATE carillon.inflight f SET settlements = f.settlements + 1, jobs = ARRAY(
            SELECT CASE WHEN k.whole THEN j ELSE carillon.changed_job(j, tokens => t.list,
                payloads => carillon.payloads_of(j, t.list), origin => coalesce(j.origin, j.id)) END
            FROM unnest(staying, staying_whole) WITH ORDINALITY AS k(id, whole, place)
            JOIN unnest(claimed_jobs) AS j ON j.id = k.id
            LEFT JOIN (
                SELECT u.place, array_agg(u.token) AS list FROM unnest(staying_place, staying_token) AS u(place, token)
                GROUP BY u.place) AS t ON t.place = k.place
            ORDER BY k.place)
        WHERE claimed_jobs IS NOT NULL AND f.app_id = app AND f.id = claim;
    ELSE
        DELETE FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
            AND f.settlements = settlement_number
        RETURNING CASE WHEN needs_jobs THEN f.jobs END INTO claimed_jobs;
    END IF;
    IF NOT FOUND THEN
        RETURN carillon.why_unsettled(app, claim, worker, claimed, settlement_number);
    END IF;
    IF cardinality(unanswered) > 0 THEN
        INSERT INTO carillon.unknown_outcomes (app_id, message_id)
        SELECT DISTINCT app, u.id FROM unnest(unanswered) AS u(id);
    END IF;
    IF has_going_back THEN
        SELECT o.* INTO checked FROM (
            SELECT array_agg(coalesce(j.origin, j.id)) AS messages, array_agg(j.broadcast_id) AS broadcasts
            FROM unnest(claimed_jobs) AS j WHERE j.id = ANY (going_back)
        ) AS a, carillon.find_cancelled(app, a.messages, a.broadcasts, ended,
            requeues => cardinality(going_back_after) < cardinality(going_back)
                OR array_position(going_back_after, NULL) IS NOT NULL
        ) AS o;
    END IF;
    IF has_expired THEN
        SELECT l.status, l.reason INTO ended_status, ended_reason
        FROM carillon.outcomes_before_expiry(claimed_jobs, ended, ended_expired, ended_status, ended_reason) AS l;
    END IF;
    IF cardinality(identified) > 0 THEN
        ended_unique_ids := carillon.unique_ids_of(ended, identified, identified_token, identified_unique_id);
    END IF;
    IF has_requeueable THEN
        requeueable := ARRAY(
            SELECT CASE WHEN j.payloads IS NULL THEN j ELSE carillon.narrowed_job(j, pushes.tokens) END
            FROM (
                SELECT f.id, array_agg(f.token) AS tokens FROM unnest(failed, failed_token, failed_status) AS f(id, token, status)
                WHERE f.status IS DISTINCT FROM dead_status GROUP BY f.id
            ) AS pushes JOIN unnest(claimed_jobs) AS j ON coalesce(j.origin, j.id) = pushes.id);
    END IF;
    IF has_going_back THEN
        WITH tokens AS (
            SELECT t.place, array_agg(t.token) AS list FROM unnest(going_back_place, going_back_token) AS t(place, token)
            GROUP BY t.place
        ), job AS (
            SELECT a.after, coalesce(j.origin, j.id) = ANY (checked.cancelled) AS is_cancelled, carillon.changed_job(j,
                id => CASE WHEN NOT a.whole THEN nextval('carillon.messages_id_seq') END, tokens => t.list,
                payloads => CASE WHEN t.list IS NOT NULL AND j.payloads IS NOT NULL THEN carillon.payloads_of(j, t.list) END,
                attempt => a.attempt, lost_claims => 0::smallint,
                origin => CASE WHEN NOT a.whole THEN coalesce(j.origin, j.id) END,
                last_status => a.status, last_reason => a.reason,
                unanswered => CASE WHEN a.attempt > j.attempt AND coalesce(j.origin, j.id) = ANY (settle.unanswered)
                    THEN least(coalesce(j.unanswered, 0) + 1, 99)::smallint END) AS made
            FROM unnest(going_back, going_back_whole, going_back_attempt, going_back_after, going_back_status,
                    going_back_reason) WITH ORDINALITY
                AS a(id, whole, attempt, after, status, reason, place)
            JOIN unnest(claimed_jobs) AS j ON j.id = a.id
            LEFT JOIN tokens t ON t.place = a.place
        )
        SELECT array_agg(j.made) FILTER (WHERE j.after IS NULL AND NOT j.is_cancelled),
            array_agg(j.made) FILTER (WHERE j.after IS NOT NULL AND NOT j.is_cancelled),
            array_agg(j.after) FILTER (WHERE j.after IS NOT NULL AND NOT j.is_cancelled),
            array_agg(carillon.as_cancelled(j.made)) FILTER (WHERE j.is_cancelled)
        INTO at_once, later, waits, cancelled FROM job j;
    END IF;

    -- The second form of use_session_path(): see session_path.sql.
    PERFORM pg_catalog.set_config('search_path', NULL, true);
    IF has_ended THEN
        -- What end_messages() does for whole messages, without a composite value for each.
        INSERT INTO carillon.results
            (message_id, app_id, reference, broadcast_id, sent, failed, expired, attempts, created_at, worker_id,
            last_status, last_reason, apns_unique_ids)
        SELECT e.message_id, app, e.reference, e.broadcast_id, e.sent, e.failed, e.expired, e.attempts, e.created_at, worker,
            e.last_status, e.last_reason, e.apns_unique_ids
        FROM carillon.endings(ended, ended_remaining, ended_reference, ended_broadcast, ended_created, ended_sent, ended_failed,
            ended_expired, ended_attempts, ended_status, ended_reason, ended_unique_ids) AS e
        WHERE e.remaining IS NULL;
    END IF;
    IF has_counted THEN
        PERFORM carillon.end_messages(app, ARRAY(
            SELECT e FROM carillon.endings(ended, ended_remaining, ended_reference, ended_broadcast, ended_created, ended_sent,
                ended_failed, ended_expired, ended_attempts, ended_status, ended_reason, ended_unique_ids) AS e
            WHERE e.remaining IS NOT NULL), worker);
    END IF;
    IF has_failed THEN
        INSERT INTO carillon.failures
            (message_id, app_id, reference, token, status, reason, unregistered_at, apns_id, attempt, apns_unique_id)
        SELECT f.id, app, f.reference, f.token, f.status, f.reason, f.unregistered_at, f.apns_id, f.attempt, f.unique_id
        FROM unnest(failed, failed_reference, failed_token, failed_status, failed_reason, failed_unregistered_at,
                failed_apns_id, failed_attempt, failed_unique_id)
            AS f(id, reference, token, status, reason, unregistered_at, apns_id, attempt, unique_id);
    END IF;
    IF has_requeueable THEN
        PERFORM carillon.keep_failed_content(app, requeueable);
    END IF;
    IF has_dead OR has_bad_tokens THEN
        -- BadDeviceToken has no time of its own: the token was dead when it was claimed.
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, source)
        SELECT app, f.token, coalesce(f.unregistered_at, claimed), f.reason, 'http2'
        FROM unnest(failed_token, failed_reason, failed_unregistered_at) AS f(token, reason, unregistered_at)
        WHERE f.unregistered_at IS NOT NULL OR f.reason = 'BadDeviceToken'
            AND (SELECT a.reap_bad_tokens FROM carillon.apps a WHERE a.id = app);
    END IF;
    IF has_bad_channels THEN
        PERFORM carillon.channels_refused(app, failed_token, failed_reason);
    END IF;
    IF has_going_back THEN
        PERFORM carillon.record_cancelled(app, cancelled) WHERE cancelled IS NOT NULL;
        PERFORM carillon.return_uncancelled(app, at_once, '{}', checked.unsure) WHERE at_once IS NOT NULL;
        PERFORM carillon.return_jobs(app, later, waits) WHERE later IS NOT NULL;
    END IF;
    RETURN 'written';
END
$$;
COMMENT ON FUNCTION carillon.settle IS
    'Internal: records the outcomes of a claim, or of a part of it, once. Arguments whose names begin alike are the columns of one '
    'table: ended messages, failed pushes, jobs that go back to the queue, jobs that stay in flight, and apns-unique-ids.';
