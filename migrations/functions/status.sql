-- What became of a message: one row, whatever the number of its jobs.

-- Counts the pushes of a message or a broadcast. After the retention its id is unknown. If several apps have
-- messages of that id, the caller must name one.
CREATE OR REPLACE FUNCTION carillon.broadcast_progress(
    id bigint, app text DEFAULT NULL,
    OUT app_id integer, OUT tokens bigint, OUT sent bigint, OUT failed bigint, OUT expired bigint, OUT cancelled bigint,
    OUT remaining bigint, OUT finished boolean, OUT created_at timestamptz, OUT finished_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    refusal carillon.refusal;
    chosen CONSTANT integer[] := carillon.chosen_apps(broadcast_progress.app);
    apps integer[];
BEGIN
    IF cardinality(chosen) = 1 AND EXISTS (
        SELECT FROM carillon.broadcasts b WHERE b.app_id = chosen[1] AND b.id = broadcast_progress.id)
    THEN
        apps := chosen;
    ELSE
        SELECT array_agg(DISTINCT a.app_id) INTO apps FROM (
            SELECT b.app_id FROM carillon.broadcasts b WHERE b.id = broadcast_progress.id
            UNION ALL
            SELECT r.app_id FROM carillon.results r WHERE r.message_id = broadcast_progress.id
            UNION ALL
            SELECT u.app_id FROM carillon.waiting_apps() w, carillon.unfinished u
            WHERE u.app_id = w.app_id AND u.message_id = broadcast_progress.id
        ) a WHERE chosen IS NULL OR a.app_id = ANY (chosen);
    END IF;
    IF apps IS NULL THEN
        SELECT array_agg(DISTINCT j.app_id) INTO apps FROM carillon.find_job(broadcast_progress.id) j
        WHERE chosen IS NULL OR j.app_id = ANY (chosen);
    END IF;
    IF app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(app);
    ELSIF apps IS NULL THEN
        refusal := carillon.refusal('id', 'an id that enqueue or broadcast returned', id::text,
            'Workers drop results after their --retention.', 'P0002');
    ELSIF cardinality(apps) > 1 THEN
        refusal := carillon.refusal('app', 'the name of one of the apps that have a message of this id', 'null', (
            SELECT 'The apps are: ' || string_agg(a.name, ', ' ORDER BY a.name) || '.' FROM carillon.apps a
            WHERE a.id = ANY (apps)));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    app_id := apps[1];
    SELECT b.tokens, b.created_at INTO tokens, created_at
    FROM carillon.broadcasts b WHERE b.app_id = apps[1] AND b.id = broadcast_progress.id;
    IF FOUND THEN
        SELECT coalesce(sum(r.sent), 0), coalesce(sum(r.failed), 0), coalesce(sum(r.expired), 0),
            coalesce(sum(r.cancelled), 0), max(r.finished_at)
        INTO sent, failed, expired, cancelled, finished_at FROM carillon.results r
        WHERE r.app_id = apps[1] AND r.broadcast_id = broadcast_progress.id;
        SELECT sent + coalesce(sum(u.sent), 0), failed + coalesce(sum(u.failed), 0),
            expired + coalesce(sum(u.expired), 0), cancelled + coalesce(sum(u.cancelled), 0)
        INTO sent, failed, expired, cancelled FROM carillon.unfinished u
        WHERE u.app_id = apps[1] AND u.broadcast_id = broadcast_progress.id;
        remaining := tokens - sent - failed - expired - cancelled;
    ELSE
        -- One job, which has ended, has begun, or waits.
        SELECT r.sent, r.failed, r.expired, r.cancelled, 0, r.created_at, r.finished_at
        INTO sent, failed, expired, cancelled, remaining, created_at, finished_at
        FROM carillon.results r WHERE r.app_id = apps[1] AND r.message_id = broadcast_progress.id;
        IF NOT FOUND THEN
            SELECT u.sent, u.failed, u.expired, u.cancelled, u.remaining, u.created_at
            INTO sent, failed, expired, cancelled, remaining, created_at
            FROM carillon.unfinished u WHERE u.app_id = apps[1] AND u.message_id = broadcast_progress.id;
        END IF;
        IF NOT FOUND THEN
            SELECT 0, 0, 0, 0, p.token_count, p.created_at
            INTO sent, failed, expired, cancelled, remaining, created_at
            FROM carillon.find_job(broadcast_progress.id) p WHERE p.app_id = apps[1];
        END IF;
        tokens := sent + failed + expired + cancelled + remaining;
    END IF;
    finished := remaining <= 0;
    IF NOT finished THEN
        finished_at := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.broadcast_progress IS
    'Counts the pushes of a message or a broadcast. Returns one row; an unknown id is an error.';

-- The jobs of a message that have not ended, by their ids, or between the first and the last id of a message that was
-- cut. In messages, retries have ids of their own and no index finds them: `everywhere` reads all rows of the app, or the
-- newest `depth` of each lane.
CREATE OR REPLACE FUNCTION carillon.open_jobs(app integer, message bigint, last_job bigint, everywhere boolean, depth integer)
RETURNS TABLE (
    state text, message_id bigint, tokens text[], attempt smallint, run_at timestamptz, last_status smallint,
    last_reason text, reference text, created_at timestamptz
)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT 'ready', coalesce(m.origin, m.id), m.tokens, m.attempt, NULL::timestamptz, m.last_status, m.last_reason,
        m.reference, m.created_at
    FROM carillon.messages m WHERE m.app_id = open_jobs.app AND m.lane IN (0, 1, 2)
        AND m.id BETWEEN open_jobs.message AND coalesce(open_jobs.last_job, open_jobs.message)
        AND (open_jobs.last_job IS NULL OR m.broadcast_id = open_jobs.message)
    UNION ALL
    SELECT 'ready', coalesce(m.origin, m.id), m.tokens, m.attempt, NULL, m.last_status, m.last_reason, m.reference,
        m.created_at
    FROM (
        SELECT a.* FROM carillon.messages a WHERE everywhere AND depth IS NULL AND a.app_id = open_jobs.app
        UNION ALL
        SELECT n.* FROM carillon.filled_lanes(open_jobs.app) l CROSS JOIN LATERAL (
            SELECT s.* FROM carillon.messages s WHERE s.app_id = open_jobs.app AND s.lane = l.lane
            ORDER BY s.id DESC LIMIT open_jobs.depth) n
        WHERE everywhere AND depth IS NOT NULL
    ) m
    WHERE m.id NOT BETWEEN open_jobs.message AND coalesce(open_jobs.last_job, open_jobs.message)
        AND (m.origin = open_jobs.message OR open_jobs.last_job IS NOT NULL AND m.broadcast_id = open_jobs.message)
    UNION ALL
    SELECT 'scheduled', coalesce(s.origin, s.id), s.tokens, s.attempt, s.run_at, s.last_status, s.last_reason,
        s.reference, s.created_at
    FROM carillon.scheduled s WHERE s.app_id = open_jobs.app
        AND (s.id = open_jobs.message OR s.origin = open_jobs.message OR s.broadcast_id = open_jobs.message)
    UNION ALL
    SELECT 'in flight', coalesce(j.origin, j.id), j.tokens, j.attempt, NULL, j.last_status, j.last_reason, j.reference,
        j.created_at
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j WHERE i.app_id = open_jobs.app
        AND (coalesce(j.origin, j.id) = open_jobs.message OR j.broadcast_id = open_jobs.message)
$$;

-- An id is found by indexes; a reference reads the queue. No row: there is no such message, or the retention has
-- dropped its day. A reference of several messages returns a row for each, and so does an id that several apps have,
-- of the app that is named or all that the caller may use. A retry that is due is found by reading the queue of its app, or
-- the newest `depth` rows of each lane: if it is not among them, only its last answer is unknown. may_have_arrived
-- then looks at so many failures.
CREATE OR REPLACE FUNCTION carillon.message_status(
    id bigint DEFAULT NULL, reference text DEFAULT NULL, app text DEFAULT NULL, depth integer DEFAULT NULL
) RETURNS SETOF carillon.message_state
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(message_status.app);
    few_jobs CONSTANT integer := 100;
    message record;
    whole carillon.broadcasts;
    known record;
    waiting record;
    last_failure record;
    everywhere boolean;
    answer carillon.message_state;
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
        SELECT f.app_id, f.message_id, a.name AS app
        FROM carillon.find_messages(message_status.id, message_status.reference) f
        LEFT JOIN carillon.apps a ON a.id = f.app_id
        WHERE chosen IS NULL OR f.app_id = ANY (chosen) ORDER BY f.message_id, f.app_id
    LOOP
        SELECT b.* INTO whole FROM carillon.broadcasts b WHERE b.id = message.message_id AND b.app_id = message.app_id;
        SELECT coalesce(sum(t.sent), 0) AS sent, coalesce(sum(t.failed), 0) AS failed,
            coalesce(sum(t.expired), 0) AS expired, coalesce(sum(t.cancelled), 0) AS cancelled,
            coalesce(sum(t.remaining), 0) AS remaining, max(t.attempts) AS attempts,
            min(t.reference) AS reference, min(t.created_at) AS created_at, max(t.finished_at) AS finished_at,
            array_agg(t.message_id) AS ids,
            array_agg(t.message_id) FILTER (WHERE t.failed > 0) AS failed_ids,
            (array_agg(t.last_status ORDER BY t.attempts DESC) FILTER (WHERE t.last_reason IS NOT NULL))[1] AS status,
            (array_agg(t.last_reason ORDER BY t.attempts DESC) FILTER (WHERE t.last_reason IS NOT NULL))[1] AS reason,
            array_agg(t.apns_unique_ids) FILTER (WHERE t.apns_unique_ids IS NOT NULL) AS unique_ids
        INTO known
        FROM (
            SELECT r.message_id, r.sent, r.failed, r.expired, r.cancelled, 0 AS remaining, r.attempts, r.reference,
                r.created_at, r.finished_at, r.last_status, r.last_reason, r.apns_unique_ids
            FROM carillon.results r WHERE r.app_id = message.app_id
                AND (r.message_id = message.message_id OR r.broadcast_id = message.message_id)
            UNION ALL
            SELECT u.message_id, u.sent, u.failed, u.expired, u.cancelled, u.remaining, u.attempts, u.reference,
                u.created_at, NULL, u.last_status, u.last_reason, u.apns_unique_ids
            FROM carillon.unfinished u WHERE u.app_id = message.app_id
                AND (u.message_id = message.message_id OR u.broadcast_id = message.message_id)
            UNION ALL
            -- The parts of a message that have failures are found by one step in the index for each.
            (WITH RECURSIVE part (id) AS (
                (SELECT f.message_id FROM carillon.failures f
                WHERE f.broadcast_id = message.message_id AND f.app_id = message.app_id ORDER BY f.message_id LIMIT 1)
                UNION ALL
                SELECT next.message_id FROM part CROSS JOIN LATERAL (
                    SELECT f.message_id FROM carillon.failures f
                    WHERE f.broadcast_id = message.message_id AND f.app_id = message.app_id AND f.message_id > part.id
                    ORDER BY f.message_id LIMIT 1) next
            ), alone AS MATERIALIZED (
                SELECT p.id FROM (SELECT part.id FROM part UNION SELECT message.message_id) p (id)
                WHERE NOT EXISTS (SELECT FROM carillon.results r WHERE r.message_id = p.id AND r.app_id = message.app_id)
                    AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = message.app_id AND u.message_id = p.id)
            )
            SELECT a.id, 0, count(*), 0, 0, 0, max(f.attempt), min(f.reference), NULL, max(f.failed_at), NULL, NULL, NULL
            FROM alone a JOIN carillon.failures f ON f.message_id = a.id AND f.app_id = message.app_id GROUP BY a.id)) t;
        everywhere := false;
        LOOP
            -- Thousands of jobs may wait of a message that was cut. Their tokens, 66 kB each, are not read for being counted.
            SELECT count(*) > few_jobs AND whole.id IS NOT NULL AS are_many,
                coalesce(sum(cardinality(j.tokens)) FILTER (WHERE j.is_counted), 0) AS counted,
                coalesce(sum(cardinality(j.tokens)) FILTER (
                    WHERE NOT j.is_counted AND (j.jobs <= few_jobs OR whole.id IS NULL)), 0) AS others,
                max(CASE j.state WHEN 'in flight' THEN j.attempt ELSE j.attempt - 1 END) AS attempts,
                max(j.attempt) AS attempt, min(j.run_at) AS run_at, min(j.reference) AS reference,
                min(j.created_at) AS created_at, array_agg(DISTINCT j.state) AS states, array_agg(j.message_id) AS ids,
                (array_agg(j.last_status ORDER BY j.attempt DESC) FILTER (WHERE j.last_reason IS NOT NULL))[1] AS status,
                (array_agg(j.last_reason ORDER BY j.attempt DESC) FILTER (WHERE j.last_reason IS NOT NULL))[1] AS reason
            INTO waiting
            FROM (
                SELECT o.*, count(*) OVER () AS jobs, EXISTS (SELECT FROM carillon.unfinished u
                    WHERE u.message_id = o.message_id AND u.app_id = message.app_id) AS is_counted
                FROM carillon.open_jobs(message.app_id, message.message_id, whole.last_id, everywhere, depth) o) j;
            EXIT WHEN everywhere OR waiting.counted >= known.remaining;
            everywhere := true;
        END LOOP;
        SELECT f.status, f.reason INTO last_failure FROM carillon.failures f
        WHERE f.app_id = message.app_id AND f.message_id = ANY (known.failed_ids) ORDER BY f.failed_at DESC LIMIT 1;

        answer := NULL;
        answer.id := message.message_id;
        answer.app := message.app;
        answer.reference := coalesce(whole.reference, known.reference, waiting.reference);
        answer.sent := known.sent;
        answer.failed := known.failed;
        answer.expired := known.expired;
        answer.cancelled := known.cancelled;
        answer.waiting := CASE WHEN waiting.are_many
            THEN greatest(whole.tokens - known.sent - known.failed - known.expired - known.cancelled, 0)
            ELSE known.remaining + waiting.others END;
        answer.tokens := coalesce(whole.tokens,
            known.sent + known.failed + known.expired + known.cancelled + known.remaining + waiting.others);
        answer.attempts := greatest(known.attempts, waiting.attempts);
        answer.created_at := coalesce(whole.created_at, known.created_at, waiting.created_at);
        answer.next_attempt_at := waiting.run_at;
        answer.last_status := CASE WHEN waiting.reason IS NOT NULL THEN waiting.status
            WHEN last_failure.reason IS NOT NULL THEN last_failure.status
            WHEN known.reason IS NOT NULL THEN known.status
            WHEN known.sent > 0 AND known.failed + known.expired + known.cancelled = 0 THEN 200 END;
        answer.last_reason := coalesce(waiting.reason, last_failure.reason, known.reason);
        answer.state := CASE
            WHEN 'in flight' = ANY (waiting.states) THEN 'in flight'
            WHEN answer.waiting > 0 AND (waiting.attempt > 1 OR depth IS NOT NULL AND known.remaining > waiting.counted)
            THEN 'retrying'
            WHEN 'ready' = ANY (waiting.states) THEN 'ready'
            WHEN answer.waiting > 0 THEN 'scheduled'
            WHEN known.sent > 0 AND known.failed + known.expired + known.cancelled > 0 THEN 'partly sent'
            WHEN known.sent > 0 THEN 'sent'
            WHEN known.failed > 0 THEN 'failed'
            WHEN known.expired > 0 THEN 'expired'
            WHEN known.cancelled > 0 THEN 'cancelled' ELSE 'empty' END;
        IF answer.waiting = 0 THEN
            answer.finished_at := known.finished_at;
        ELSE
            answer.held := (
                SELECT CASE WHEN a.paused THEN 'the app is paused' || coalesce(': ' || a.paused_reason, '')
                    WHEN h.reason IS NOT NULL THEN h.reason
                    WHEN NOT EXISTS (SELECT FROM carillon.workers w WHERE w.lease_until > now())
                    THEN 'no worker is running' END
                FROM carillon.apps a LEFT JOIN carillon.held_apps h ON h.app_id = a.id WHERE a.id = message.app_id);
        END IF;
        answer.may_have_arrived := answer.sent < answer.tokens AND (
            EXISTS (SELECT FROM carillon.unknown_outcomes u WHERE u.app_id = message.app_id
                AND u.message_id = ANY (known.ids || waiting.ids))
            OR EXISTS (SELECT FROM (
                SELECT f.status, f.reason FROM carillon.failures f
                WHERE f.app_id = message.app_id AND f.message_id = ANY (known.failed_ids) LIMIT depth) f
                WHERE carillon.can_requeue(f.status, f.reason, true, true)
                    AND NOT carillon.can_requeue(f.status, f.reason, false, false)));
        SELECT coalesce(jsonb_agg(CASE WHEN t.apns_unique_id IS NULL THEN to_jsonb(t) - 'apns_unique_id' ELSE to_jsonb(t) END),
            '[]') INTO answer.outcomes
        FROM (
            SELECT carillon.token_text(f.token) AS token, 'failed' AS state, f.status, f.reason,
                NULL::timestamptz AS next_attempt_at, f.apns_unique_id
            FROM carillon.failures f WHERE f.app_id = message.app_id AND f.message_id = ANY (known.failed_ids)
            UNION ALL
            SELECT carillon.token_text(u.token), CASE WHEN o.state <> 'in flight' AND o.attempt > 1 THEN 'retrying' ELSE o.state END,
                o.last_status, o.last_reason, o.run_at, NULL
            FROM carillon.open_jobs(message.app_id, message.message_id, whole.last_id, everywhere, depth) o
            CROSS JOIN LATERAL unnest(o.tokens) AS u(token)
            UNION ALL
            SELECT carillon.token_text(s.token), 'sent', 200, NULL, NULL, s.id::uuid
            FROM unnest(known.unique_ids) AS i(ids), jsonb_each_text(i.ids) AS s(token, id)
            LIMIT 1000) t;
        RETURN NEXT answer;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.message_status IS
    'Returns the state of a message, by its id or by its reference: a row for each message. No row: there is no such '
    'message, or its results were dropped after the retention.';
