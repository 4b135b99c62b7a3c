-- The state of a message: one row, however many jobs it has. message_status(), which users call, adds up what has ended and what is
-- open: ended_counts(), open_counts(), then message_state(). They only read.

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.max_outcomes() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1000 $$;
COMMENT ON FUNCTION carillon.max_outcomes IS 'Internal: returns how many tokens message_status lists.';

-- open_jobs() finds jobs by their ids or, for a split message, between its first and last id. In messages, retries have ids of
-- their own that no index finds: with `everywhere`, all rows of the app are read, or the newest `max_rows_read` rows of each lane.
CREATE OR REPLACE FUNCTION carillon.open_jobs(
    app integer, message bigint, last_job bigint, everywhere boolean, max_rows_read integer
) RETURNS TABLE (
    state text, message_id bigint, tokens text[], attempt smallint, run_at timestamptz, last_status smallint,
    last_reason text, reference text, created_at timestamptz, id bigint, lane smallint, claimed_at timestamptz,
    expires_at timestamptz
)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT 'ready', coalesce(m.origin, m.id), m.tokens, m.attempt, NULL::timestamptz, m.last_status, m.last_reason,
        m.reference, m.created_at, m.id, m.lane, NULL::timestamptz, m.expires_at
    FROM carillon.filled_lanes(open_jobs.app) l CROSS JOIN LATERAL (
        SELECT s.* FROM carillon.messages s WHERE s.app_id = open_jobs.app AND s.lane = l.lane
            AND s.id BETWEEN open_jobs.message AND coalesce(open_jobs.last_job, open_jobs.message)
            AND (open_jobs.last_job IS NULL OR s.broadcast_id = open_jobs.message)
        OFFSET 0) m  -- OFFSET: each lane is an index scan of its own, never a join with all rows of the app
    UNION ALL
    SELECT 'ready', coalesce(m.origin, m.id), m.tokens, m.attempt, NULL, m.last_status, m.last_reason, m.reference,
        m.created_at, m.id, m.lane, NULL, m.expires_at
    FROM (
        SELECT a.* FROM carillon.messages a WHERE everywhere AND max_rows_read IS NULL AND a.app_id = open_jobs.app
        UNION ALL
        SELECT n.* FROM carillon.filled_lanes(open_jobs.app) l CROSS JOIN LATERAL (
            SELECT s.* FROM carillon.messages s WHERE s.app_id = open_jobs.app AND s.lane = l.lane
            ORDER BY s.id DESC LIMIT open_jobs.max_rows_read) n
        WHERE everywhere AND max_rows_read IS NOT NULL
    ) m
    WHERE m.id NOT BETWEEN open_jobs.message AND coalesce(open_jobs.last_job, open_jobs.message)
        AND (m.origin = open_jobs.message OR open_jobs.last_job IS NOT NULL AND m.broadcast_id = open_jobs.message)
    UNION ALL
    SELECT 'scheduled', coalesce(s.origin, s.id), s.tokens, s.attempt, s.run_at, s.last_status, s.last_reason,
        s.reference, s.created_at, s.id, s.lane, NULL, s.expires_at
    FROM carillon.scheduled s WHERE s.app_id = open_jobs.app
        AND (s.id = open_jobs.message OR s.origin = open_jobs.message OR s.broadcast_id = open_jobs.message)
    UNION ALL
    SELECT 'in flight', coalesce(j.origin, j.id), j.tokens, j.attempt, NULL, j.last_status, j.last_reason, j.reference,
        j.created_at, j.id, j.lane, i.claimed_at, j.expires_at
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j WHERE i.app_id = open_jobs.app
        AND (coalesce(j.origin, j.id) = open_jobs.message OR j.broadcast_id = open_jobs.message)
$$;
COMMENT ON FUNCTION carillon.open_jobs IS 'Internal: returns the jobs of a message that have not ended.';

-- ended_counts() adds up the jobs of a message in results and unfinished, and failures that are the only record of a job: see
-- end_unrecorded().
CREATE OR REPLACE FUNCTION carillon.ended_counts(message carillon.chosen_message) RETURNS carillon.ended_counts
LANGUAGE plpgsql STABLE AS $$
DECLARE
    ended carillon.ended_counts;
BEGIN
    SELECT coalesce(sum(t.sent), 0), coalesce(sum(t.failed), 0), coalesce(sum(t.expired), 0), coalesce(sum(t.cancelled), 0),
        coalesce(sum(t.remaining), 0), max(t.attempts),
        (array_agg(t.last_status ORDER BY t.attempts DESC) FILTER (WHERE t.last_reason IS NOT NULL))[1],
        (array_agg(t.last_reason ORDER BY t.attempts DESC) FILTER (WHERE t.last_reason IS NOT NULL))[1],
        min(t.reference), min(t.created_at), max(t.finished_at),
        array_agg(t.message_id), array_agg(t.message_id) FILTER (WHERE t.failed > 0), coalesce(bool_or(t.has_unique_ids), false)
    INTO ended
    FROM (
        SELECT r.message_id, r.sent, r.failed, r.expired, r.cancelled, 0 AS remaining, r.attempts, r.reference,
            r.created_at, r.finished_at, r.last_status, r.last_reason, r.apns_unique_ids IS NOT NULL AS has_unique_ids
        FROM carillon.results r WHERE r.app_id = message.app_id AND (r.message_id = message.id OR r.broadcast_id = message.id)
        UNION ALL
        SELECT u.message_id, u.sent, u.failed, u.expired, u.cancelled, u.remaining, u.attempts, u.reference,
            u.created_at, NULL, u.last_status, u.last_reason, u.apns_unique_ids IS NOT NULL
        FROM carillon.unfinished u WHERE u.app_id = message.app_id AND (u.message_id = message.id OR u.broadcast_id = message.id)
        UNION ALL
        (WITH alone AS MATERIALIZED (
            SELECT j.id FROM (
                SELECT u.message_id FROM carillon.unrecorded_jobs(message.app_id, message.id) u UNION SELECT message.id) j (id)
            WHERE NOT EXISTS (SELECT FROM carillon.results r WHERE r.message_id = j.id AND r.app_id = message.app_id)
                AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = message.app_id AND u.message_id = j.id)
        )
        SELECT a.id, 0, count(*), 0, 0, 0, max(f.attempt), min(f.reference), NULL, max(f.failed_at), NULL, NULL, NULL
        FROM alone a JOIN carillon.failures f ON f.message_id = a.id AND f.app_id = message.app_id GROUP BY a.id)
    ) AS t;
    RETURN ended;
END
$$;
COMMENT ON FUNCTION carillon.ended_counts IS 'Internal: counts the pushes of a message that have ended.';

-- Retries that are due have ids of their own. The queue of the app is searched for them only if fewer jobs were found without it
-- than remain.
CREATE OR REPLACE FUNCTION carillon.open_counts(message carillon.chosen_message, ended carillon.ended_counts, max_rows_read integer)
RETURNS carillon.open_counts
LANGUAGE plpgsql STABLE AS $$
DECLARE
    few_jobs CONSTANT integer := 100;
    is_split CONSTANT boolean := message.last_job IS NOT NULL;
    read_queue boolean := false;
    open carillon.open_counts;
BEGIN
    LOOP
        WITH job AS MATERIALIZED (
            SELECT o.*, count(*) OVER () AS jobs, EXISTS (SELECT FROM carillon.unfinished u
                WHERE u.message_id = o.message_id AND u.app_id = message.app_id) AS is_counted
            FROM carillon.open_jobs(message.app_id, message.id, message.last_job, read_queue, max_rows_read) o
        )
        -- Thousands of jobs of a split message may be waiting. Their tokens, 66 kB each, are not read just to count them.
        SELECT CASE WHEN 'in flight' = ANY (q.states) THEN 'in flight'
                WHEN w.waiting > 0 AND (q.attempt > 1 OR max_rows_read IS NOT NULL AND ended.remaining > q.counted) THEN 'retrying'
                WHEN 'ready' = ANY (q.states) THEN 'ready'
                WHEN w.waiting > 0 THEN 'scheduled' END,
            coalesce(message.tokens, ended.sent + ended.failed + ended.expired + ended.cancelled + ended.remaining + q.uncounted),
            w.waiting, q.counted, q.attempts, q.run_at, q.last_status, q.last_reason, q.reference, q.created_at, q.expires_at,
            q.ids,
            ARRAY(
                SELECT ROW(carillon.token_text(u.token),
                    CASE WHEN j.state <> 'in flight' AND j.attempt > 1 THEN 'retrying' ELSE j.state END,
                    j.last_status, j.last_reason, j.run_at, NULL)::carillon.token_outcome
                FROM job j CROSS JOIN LATERAL unnest(j.tokens) AS u(token) LIMIT carillon.max_outcomes())
        INTO open
        FROM (
            SELECT count(*) > few_jobs AND is_split AS are_many,
                coalesce(sum(cardinality(j.tokens)) FILTER (WHERE j.is_counted), 0) AS counted,
                coalesce(sum(cardinality(j.tokens)) FILTER (WHERE NOT j.is_counted AND (j.jobs <= few_jobs OR NOT is_split)), 0)
                    AS uncounted,
                max(CASE j.state WHEN 'in flight' THEN j.attempt ELSE j.attempt - 1 END) AS attempts,
                max(j.attempt) AS attempt, min(j.run_at) AS run_at, min(j.reference) AS reference,
                min(j.created_at) AS created_at, max(j.expires_at) AS expires_at, array_agg(DISTINCT j.state) AS states,
                array_agg(j.message_id) AS ids,
                (array_agg(j.last_status ORDER BY j.attempt DESC) FILTER (WHERE j.last_reason IS NOT NULL))[1] AS last_status,
                (array_agg(j.last_reason ORDER BY j.attempt DESC) FILTER (WHERE j.last_reason IS NOT NULL))[1] AS last_reason
            FROM job j
        ) q CROSS JOIN LATERAL (
            SELECT CASE WHEN q.are_many
                THEN greatest(message.tokens - ended.sent - ended.failed - ended.expired - ended.cancelled, 0)
                ELSE ended.remaining + q.uncounted END AS waiting) w;
        IF read_queue OR open.counted >= ended.remaining THEN
            RETURN open;
        END IF;
        read_queue := true;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.open_counts IS 'Internal: counts the pushes of a message that have not ended.';

-- The last outcome is that of a push that waits for another attempt; else of a failure; else of a push that expired or was
-- cancelled after an attempt.
CREATE OR REPLACE FUNCTION carillon.last_outcome(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts, OUT status smallint, OUT reason text
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    status := open.last_status;
    reason := open.last_reason;
    IF reason IS NULL THEN
        -- OFFSET 0 prevents a search backwards through the failures of the app, which may have had millions since.
        SELECT f.status, f.reason INTO status, reason FROM (
            SELECT n.status, n.reason, n.failed_at FROM carillon.failures n
            WHERE n.app_id = message.app_id AND n.message_id = ANY (ended.failed_ids) OFFSET 0) f
        ORDER BY f.failed_at DESC LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        reason := ended.last_reason;
        status := CASE WHEN reason IS NOT NULL THEN ended.last_status
            WHEN ended.sent > 0 AND ended.failed + ended.expired + ended.cancelled = 0 THEN 200 END;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.last_outcome IS 'Internal: returns the outcome of the last attempt of a message.';

-- may_have_arrived() looks at `max_rows_read` failures, or at all if it is null.
CREATE OR REPLACE FUNCTION carillon.may_have_arrived(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts, max_rows_read integer
) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ended.sent < open.tokens AND (
        EXISTS (SELECT FROM carillon.unknown_outcomes u
            WHERE u.app_id = message.app_id AND u.message_id = ANY (ended.ids || open.ids))
        OR EXISTS (SELECT FROM (
            SELECT f.status, f.reason FROM carillon.failures f
            WHERE f.app_id = message.app_id AND f.message_id = ANY (ended.failed_ids) LIMIT max_rows_read) seen
            WHERE carillon.can_requeue(seen.status, seen.reason, true, true)
                AND NOT carillon.can_requeue(seen.status, seen.reason, false, false)));
END
$$;
COMMENT ON FUNCTION carillon.may_have_arrived IS
    'Internal: returns whether pushes of a message that do not count as sent may have been delivered.';

-- token_outcomes() covers tokens that failed or wait, and sent tokens whose apns-unique-id was kept; at most max_outcomes().
CREATE OR REPLACE FUNCTION carillon.token_outcomes(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts
) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(
        jsonb_agg(CASE WHEN t.apns_unique_id IS NULL THEN to_jsonb(t) - 'apns_unique_id' ELSE to_jsonb(t) END), '[]')
    FROM (
        SELECT carillon.token_text(f.token) AS token, 'failed' AS state, f.status, f.reason,
            NULL::timestamptz AS next_attempt_at, f.apns_unique_id
        FROM carillon.failures f WHERE f.app_id = message.app_id AND f.message_id = ANY (ended.failed_ids)
        UNION ALL
        SELECT o.* FROM unnest(open.outcomes) o
        UNION ALL
        SELECT carillon.token_text(s.token), 'sent', 200, NULL, NULL, s.id::uuid
        FROM (
            SELECT r.apns_unique_ids FROM carillon.results r
            WHERE r.app_id = message.app_id AND (r.message_id = message.id OR r.broadcast_id = message.id)
            UNION ALL
            SELECT u.apns_unique_ids FROM carillon.unfinished u
            WHERE u.app_id = message.app_id AND (u.message_id = message.id OR u.broadcast_id = message.id)
        ) AS k(ids), jsonb_each_text(k.ids) AS s(token, id) WHERE ended.has_unique_ids
        LIMIT carillon.max_outcomes()) t);
END
$$;
COMMENT ON FUNCTION carillon.token_outcomes IS 'Internal: returns the states of individual tokens of a message.';

-- 'epoch' is no limit.
CREATE OR REPLACE FUNCTION carillon.expiry_text(expires_at timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN expires_at > now() THEN 'it expires at ' ELSE 'it will not be sent, because it expired at ' END
        || to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    WHERE isfinite(expires_at) AND expires_at <> 'epoch'
$$;
COMMENT ON FUNCTION carillon.expiry_text IS 'Internal: says when a push that waits expires, or that it has.';

-- A name keeps its capital.
CREATE OR REPLACE FUNCTION carillon.clause_text(sentence text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN s.rest ~ '^[A-Z][a-z]* ' AND s.rest !~ '^(Apple|Carillon) ' THEN lower(left(s.rest, 1)) || substr(s.rest, 2)
        ELSE s.rest END
    FROM (SELECT regexp_replace(sentence, '[.]$', '') AS rest) AS s
$$;
COMMENT ON FUNCTION carillon.clause_text IS 'Internal: writes a sentence as a part of another one.';

CREATE OR REPLACE FUNCTION carillon.waiting_reason(
    app integer, expires_at timestamptz DEFAULT NULL, run_at timestamptz DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT nullif(concat_ws('; ', CASE WHEN a.paused THEN 'the app is paused' || coalesce(': ' || a.paused_reason, '')
            WHEN h.reason IS NOT NULL THEN carillon.clause_text(h.reason)
            WHEN NOT EXISTS (SELECT FROM carillon.worker_status s WHERE s.state <> 'silent') THEN 'no worker is running' END,
            CASE WHEN a.quiet_hours IS NOT NULL THEN carillon.quiet_text(a, run_at) END,
            CASE WHEN expires_at <= now() THEN carillon.expiry_text(expires_at) END), '')
        FROM carillon.apps a LEFT JOIN carillon.held_apps h ON h.app_id = a.id WHERE a.id = waiting_reason.app);
END
$$;
COMMENT ON FUNCTION carillon.waiting_reason IS
    'Internal: returns why nothing of an app is sent at the moment, and if a push of it has expired; null if nothing prevents it.';

CREATE OR REPLACE FUNCTION carillon.message_state(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts, max_rows_read integer
) RETURNS carillon.message_state
LANGUAGE plpgsql STABLE AS $$
DECLARE
    unsent CONSTANT bigint := ended.failed + ended.expired + ended.cancelled;
    made carillon.message_state;
BEGIN
    made.id := message.id;
    made.app := message.app;
    made.reference := coalesce(message.reference, ended.reference, open.reference);
    made.state := coalesce(open.state, CASE
        WHEN ended.sent > 0 AND unsent > 0 THEN 'partly sent'
        WHEN ended.sent > 0 THEN 'sent'
        WHEN ended.failed > 0 THEN 'failed'
        WHEN ended.expired > 0 THEN 'expired'
        WHEN ended.cancelled > 0 THEN 'cancelled' ELSE 'empty' END);
    made.attempts := greatest(ended.attempts, open.attempts);
    made.next_attempt_at := open.run_at;
    SELECT l.status, l.reason INTO made.last_status, made.last_reason FROM carillon.last_outcome(message, ended, open) l;
    made.tokens := open.tokens;
    made.sent := ended.sent;
    made.failed := ended.failed;
    made.expired := ended.expired;
    made.cancelled := ended.cancelled;
    made.waiting := open.waiting;
    made.created_at := coalesce(message.created_at, ended.created_at, open.created_at);
    made.may_have_arrived := carillon.may_have_arrived(message, ended, open, max_rows_read);
    made.outcomes := carillon.token_outcomes(message, ended, open);
    IF open.waiting = 0 THEN
        made.finished_at := ended.finished_at;
    ELSE
        made.waiting_reason := carillon.waiting_reason(message.app_id,
            CASE WHEN open.state <> 'in flight' THEN open.expires_at END, open.run_at);
    END IF;
    RETURN made;
END
$$;
COMMENT ON FUNCTION carillon.message_state IS 'Internal: returns the row of message_status for a message.';

-- message_status() finds an id through indexes; a reference requires reading the queue. It returns no row if there is no such
-- message, or if its partition was dropped after the retention. A reference that several messages share returns a row for each; so
-- does an id that several apps have, limited to the named app or to the apps that the caller may use.
--
-- A retry that is due is found by reading the queue of its app, or the newest `max_rows_read` rows of each lane. If it is not among
-- them, only its last answer is unknown.
CREATE OR REPLACE FUNCTION carillon.message_status(
    id bigint DEFAULT NULL, reference text DEFAULT NULL, app text DEFAULT NULL, max_rows_read integer DEFAULT NULL,
    after bigint DEFAULT NULL, max_messages integer DEFAULT NULL
) RETURNS SETOF carillon.message_state
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp SET jit = off AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(message_status.app);
    message carillon.chosen_message;
    ended carillon.ended_counts;
    refusal carillon.refusal;
BEGIN
    IF (message_status.id IS NULL) = (message_status.reference IS NULL) THEN
        refusal := carillon.refusal('id', 'an id that enqueue returned, or null if reference is given',
            CASE WHEN message_status.id IS NULL THEN 'neither' ELSE 'both' END,
            'For example: message_status(4711), or message_status(reference => ''order 7'').');
    ELSIF message_status.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(message_status.app);
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    FOR message IN
        SELECT f.app_id, f.message_id, a.name, b.last_id, b.tokens, b.reference, b.created_at
        FROM (
            SELECT n.* FROM carillon.find_messages(message_status.id, message_status.reference) n
            WHERE (chosen IS NULL OR n.app_id = ANY (chosen)) AND (n.message_id > message_status.after) IS NOT FALSE
            ORDER BY n.message_id, n.app_id LIMIT max_messages) f
        LEFT JOIN carillon.apps a ON a.id = f.app_id
        LEFT JOIN LATERAL (
            -- OFFSET 0 forces lookups by primary key, however many messages the planner expects.
            SELECT * FROM carillon.split_messages s WHERE s.app_id = f.app_id AND s.id = f.message_id OFFSET 0) b ON true
        ORDER BY f.message_id, f.app_id
    LOOP
        ended := carillon.ended_counts(message);
        RETURN NEXT carillon.message_state(message, ended, carillon.open_counts(message, ended, max_rows_read), max_rows_read);
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.message_status IS
    'Returns the state of a message by its id or reference, with a row for each message that matches, in the order of their ids: '
    'at most max_messages, whose ids are above after. Returns no row if there is no such message or its results were dropped '
    'after the retention.';
