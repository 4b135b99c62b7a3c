-- What is known of a message, in the order of time and in plain words, for trace(). trace_message() takes the state of the message
-- from message_status(), and adds times, jobs and failures. It only reads.

-- PostgreSQL inlines these functions, which have no SET clause.
CREATE OR REPLACE FUNCTION carillon.max_traced() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 20 $$;
COMMENT ON FUNCTION carillon.max_traced IS
    'Internal: returns how many messages of a reference, tokens of an owner, jobs of a token and attempts without an answer trace '
    'shows.';

CREATE OR REPLACE FUNCTION carillon.amount_text(amount numeric, exactness text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN exactness OPERATOR(pg_catalog.=) 'exact' THEN '' ELSE pg_catalog.concat(exactness, ' ') END
        OPERATOR(pg_catalog.||) pg_catalog.to_char(amount, 'FM999,999,999,999,999,990')
$$;
COMMENT ON FUNCTION carillon.amount_text IS 'Internal: writes a number with its precision, as in: about 80,000.';

CREATE OR REPLACE FUNCTION carillon.counted_text(amount bigint, one text, several text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.amount_text(amount, 'exact') OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||)
        CASE amount WHEN 1 THEN one ELSE several END
$$;
COMMENT ON FUNCTION carillon.counted_text IS 'Internal: writes a number with what it counts, as in: 2 tokens.';

-- As in AnswerText.swift.
CREATE OR REPLACE FUNCTION carillon.answer_text(status smallint, reason text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT pg_catalog.concat_ws(' ', status, reason) $$;
COMMENT ON FUNCTION carillon.answer_text IS 'Internal: writes an answer of APNs, as in: 503 ServiceUnavailable.';

CREATE OR REPLACE FUNCTION carillon.failure_text(status smallint, reason text, attempt smallint) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN status = 200 THEN 'accepted by Apple, but PostgreSQL refused to record it: '
            WHEN status IS NOT NULL THEN 'refused by Apple: '
            WHEN reason = 'OutcomeUnknown' THEN 'failed without an answer, and may have arrived: '
            ELSE 'failed without an answer of Apple: ' END
        || carillon.answer_text(status, reason) || CASE WHEN attempt > 1 THEN ', at attempt ' || attempt ELSE '' END
$$;
COMMENT ON FUNCTION carillon.failure_text IS 'Internal: says how a push failed.';

CREATE OR REPLACE FUNCTION carillon.sent_text(app carillon.apps, apns_id uuid DEFAULT NULL) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE app.protocol WHEN 'binary' THEN 'sent, and no error followed'
        ELSE 'accepted by Apple' || coalesce(', with the apns-id ' || apns_id, '') END
$$;
COMMENT ON FUNCTION carillon.sent_text IS 'Internal: says that a push was sent.';

-- pushes_ahead() reads the `max_rows_read` jobs that are claimed last before a job. The settings force the order of the index. An
-- array that is stored out of line is not read: each token of 64 digits takes 68 bytes of it, after 20 of its own.
CREATE OR REPLACE FUNCTION carillon.pushes_ahead(
    app_id integer, lane smallint, id bigint, max_rows_read integer, OUT pushes numeric, OUT exactness text
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    jobs bigint;
    are_long boolean;
    estimate bigint;
BEGIN
    SELECT count(*), coalesce(sum(CASE WHEN c.bytes > 2000 THEN (c.bytes - 20) / 68 ELSE cardinality(c.tokens) END), 0),
        coalesce(bool_or(c.bytes > 2000), false)
    INTO jobs, pushes, are_long
    FROM (
        SELECT m.tokens, pg_column_size(m.tokens) AS bytes FROM carillon.messages m
        WHERE m.app_id = pushes_ahead.app_id AND m.lane = pushes_ahead.lane AND m.id < pushes_ahead.id
        ORDER BY m.app_id DESC, m.lane DESC, m.id DESC LIMIT max_rows_read + 1) c;
    IF jobs > max_rows_read THEN
        estimate := carillon.estimated_depth(pushes_ahead.app_id, pushes_ahead.lane, pushes_ahead.id);
        pushes := greatest(pushes, round(pushes * estimate / jobs));
        jobs := greatest(jobs, estimate);
    END IF;
    exactness := carillon.depth_precision(jobs, max_rows_read);
    IF exactness = 'exact' AND are_long THEN
        exactness := 'about';
    ELSIF exactness = 'about' THEN
        -- Two digits are as good as the estimate.
        pushes := round(pushes, 2 - length(trunc(pushes)::text));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.pushes_ahead IS
    'Internal: returns the number of pushes that wait before a job in its lane, and how exact that is: exact, at least or about.';

-- What keeps the app from sending comes first, unless the job waits for its time, or is claimed already.
CREATE OR REPLACE FUNCTION carillon.waiting_text(job carillon.waiting_job, jobs bigint, ahead text, reason text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN c.is_cause THEN reason || '; ' ELSE '' END
        || CASE WHEN jobs > 1 THEN carillon.amount_text(jobs, 'exact') || ' jobs, the first of them ' ELSE '' END
        || CASE job.state
            WHEN 'in flight' THEN 'claimed by a worker'
            WHEN 'scheduled' THEN CASE WHEN job.attempt > 1 THEN 'due' ELSE 'scheduled for then' END
            ELSE 'waiting' || CASE WHEN ahead <> '0' THEN ' behind ' || ahead || CASE ahead WHEN '1' THEN ' push' ELSE ' pushes' END
                WHEN c.is_cause THEN ', with nothing before it in its lane'
                ELSE ' for a worker, with nothing before it in its lane' END END
        || CASE WHEN job.attempt > 1 OR job.state = 'in flight' THEN ' for attempt ' || job.attempt ELSE '' END
        || coalesce(', after ' || nullif(carillon.answer_text(job.last_status, job.last_reason), ''),
            CASE WHEN job.attempt > 1 THEN ', after an attempt without an answer' ELSE '' END)
        || CASE job.state WHEN 'in flight' THEN '; what becomes of it is not known yet' ELSE '' END
        || coalesce('; at present, ' || CASE WHEN NOT c.is_cause THEN reason END, '')
        || coalesce('; ' || CASE WHEN job.state <> 'in flight' THEN carillon.expiry_text(job.expires_at) END, '')
    FROM (SELECT reason IS NOT NULL AND (job.state = 'ready' OR job.state = 'scheduled' AND job.run_at <= now()) AS is_cause) AS c
$$;
COMMENT ON FUNCTION carillon.waiting_text IS 'Internal: says what a job waits for.';

-- trace_job() writes about the first of `jobs` jobs that wait together.
CREATE OR REPLACE FUNCTION carillon.trace_job(
    app carillon.apps, job carillon.waiting_job, token text, jobs bigint, reason text, max_rows_read integer
) RETURNS carillon.trace_event
LANGUAGE plpgsql STABLE AS $$
DECLARE
    ahead record;
    ahead_text text;
    made carillon.trace_event;
BEGIN
    made.at := coalesce(job.run_at, job.claimed_at, now());
    made.event := CASE WHEN job.state = 'scheduled' AND job.attempt > 1 THEN 'retrying' WHEN job.state = 'ready' THEN 'waiting'
        ELSE job.state END;
    made.details := jsonb_strip_nulls(jsonb_build_object('lane', job.lane, 'attempt', job.attempt, 'jobs', jobs,
        'status', job.last_status, 'reason', job.last_reason, 'waiting_reason', reason, 'expires_at', job.expires_at));
    IF job.state = 'ready' THEN
        SELECT a.* INTO ahead FROM carillon.pushes_ahead(app.id, job.lane, job.id, max_rows_read) a;
        ahead_text := carillon.amount_text(ahead.pushes, ahead.exactness);
        made.details := made.details || jsonb_build_object('ahead', ahead.pushes, 'ahead_precision', ahead.exactness);
    END IF;
    made.what := carillon.waiting_text(job, jobs, ahead_text, reason)
        || coalesce(CASE WHEN job.state = 'ready' THEN '; the app may send ' END
            || carillon.counted_text(app.max_rate, 'push', 'pushes') || ' a second', '')
        || coalesce('; ' || CASE WHEN app.quiet_hours IS NOT NULL THEN carillon.quiet_text(app, job.run_at) END, '');
    made.message_id := job.message_id;
    made.token := carillon.token_text(token);
    RETURN made;
END
$$;
COMMENT ON FUNCTION carillon.trace_job IS 'Internal: returns the row of trace for a job that has not ended.';

-- Failures that are listed, of a message or its jobs; at most `max_rows`.
CREATE OR REPLACE FUNCTION carillon.trace_failures(app carillon.apps, message bigint, since timestamptz, max_rows integer)
RETURNS SETOF carillon.trace_event
LANGUAGE sql STABLE AS $$
    SELECT e.at, e.event, e.what, f.message_id, carillon.token_text(f.token), e.details
    FROM (
        SELECT f.* FROM carillon.failed_jobs(app.id, message, max_rows) p
        JOIN carillon.failures f ON f.app_id = app.id AND f.message_id = p.message_id WHERE f.failed_at >= since LIMIT max_rows) f
    CROSS JOIN LATERAL (VALUES
        (f.failed_at, 'failed', carillon.failure_text(f.status, f.reason, f.attempt),
            jsonb_strip_nulls(jsonb_build_object('status', f.status, 'reason', f.reason, 'attempt', f.attempt,
                'apns_id', f.apns_id, 'apns_unique_id', f.apns_unique_id, 'unregistered_at', f.unregistered_at))),
        (f.requeued_at, 'requeued', 'enqueued again as a new message', NULL),
        (f.dismissed_at, 'dismissed', 'marked as needing no action', NULL)) AS e(at, event, what, details)
    WHERE e.at IS NOT NULL
$$;
COMMENT ON FUNCTION carillon.trace_failures IS 'Internal: returns the rows of trace for the failures of a message.';

-- trace_sent() returns at most `max_rows` of the pushes that are kept. A job of a split message is one whose result says so: ids of
-- other messages may lie between.
CREATE OR REPLACE FUNCTION carillon.trace_sent(
    app carillon.apps, m carillon.message_state, last_job bigint, since timestamptz, max_rows integer, max_rows_read integer
) RETURNS SETOF carillon.trace_event
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
BEGIN
    RETURN QUERY
    SELECT s.sent_at, 'sent', carillon.sent_text(app, s.apns_id), s.message_id, carillon.token_text(s.token),
        jsonb_strip_nulls(jsonb_build_object('apns_id', s.apns_id, 'apns_unique_id', (
            SELECT o -> 'apns_unique_id' FROM jsonb_array_elements(m.outcomes) AS o
            WHERE o ->> 'state' = 'sent' AND o ->> 'token' = carillon.token_text(s.token) LIMIT 1)))
    FROM carillon.sent_pushes_of(app.id, NULL, m.id, coalesce(last_job, m.id), greatest(since, m.created_at),
        coalesce(m.finished_at, 'infinity'), max_rows_read) s
    WHERE last_job IS NULL OR carillon.split_message_of(app.id, s.message_id) = m.id
    LIMIT max_rows;
END
$$;
COMMENT ON FUNCTION carillon.trace_sent IS 'Internal: returns the rows of trace for accepted pushes of a message that are kept.';

-- trace_ended() writes about what ended without a failure. Only for a message to one token is it known when that was, or if the
-- app keeps pushes that were sent; then has_sent is true.
CREATE OR REPLACE FUNCTION carillon.trace_ended(app carillon.apps, m carillon.message_state, has_sent boolean)
RETURNS SETOF carillon.trace_event
LANGUAGE sql STABLE AS $$
    SELECT coalesce(m.finished_at, now()), e.event,
        CASE WHEN m.tokens = 1 THEN '' ELSE CASE WHEN m.finished_at IS NULL THEN 'so far, ' ELSE 'by then, ' END
            || carillon.amount_text(e.pushes, 'exact') || ' of ' || carillon.counted_text(m.tokens, 'push', 'pushes')
            || CASE e.pushes WHEN 1 THEN ' was ' ELSE ' were ' END END || e.what,
        m.id, NULL, jsonb_build_object('pushes', e.pushes, 'tokens', m.tokens)
    FROM (VALUES
        ('sent', m.sent, carillon.sent_text(app)),
        ('expired', m.expired, 'dropped, because expires_at had passed'),
        ('superseded', CASE m.last_reason WHEN 'Superseded' THEN m.cancelled END, 'replaced by a newer push'),
        ('cancelled', CASE WHEN m.last_reason IS DISTINCT FROM 'Superseded' THEN m.cancelled END, 'cancelled')
    ) AS e(event, pushes, what) WHERE e.pushes > 0 AND NOT (has_sent AND m.tokens = 1 AND e.event = 'sent')
    UNION ALL
    SELECT m.finished_at, 'empty', 'ended without a push: it had no token', m.id, NULL, NULL WHERE m.state = 'empty'
    UNION ALL
    SELECT m.finished_at, 'sent', 'accepted by Apple', m.id, o ->> 'token',
        jsonb_build_object('apns_unique_id', o ->> 'apns_unique_id')
    FROM jsonb_array_elements(m.outcomes) AS o WHERE o ->> 'state' = 'sent' AND m.tokens > 1 AND NOT has_sent
$$;
COMMENT ON FUNCTION carillon.trace_ended IS
    'Internal: returns the rows of trace for pushes of a message that ended without failing.';

CREATE OR REPLACE FUNCTION carillon.trace_message(app carillon.apps, id bigint, since timestamptz, max_rows_read integer)
RETURNS SETOF carillon.trace_event
LANGUAGE plpgsql STABLE AS $$
DECLARE
    few CONSTANT integer := 100;
    m carillon.message_state;
    split carillon.split_messages;
    sent carillon.trace_event[] := '{}';
BEGIN
    SELECT s.* INTO m
    FROM carillon.message_status(trace_message.id, app => app.name, max_rows_read => trace_message.max_rows_read) s;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT b.* INTO split FROM carillon.split_messages b WHERE b.app_id = app.id AND b.id = m.id;
    IF app.keep_sent IS NOT NULL AND m.sent > 0 THEN
        sent := ARRAY(SELECT s FROM carillon.trace_sent(app, m, split.last_id, since, few, max_rows_read) s);
    END IF;
    RETURN QUERY
    WITH unanswered AS MATERIALIZED (
        SELECT n.noted_at, row_number() OVER () AS place FROM carillon.unknown_outcomes n WHERE n.app_id = app.id
            AND n.message_id BETWEEN m.id AND coalesce(split.last_id, m.id) LIMIT carillon.max_traced() + 1
    )
    SELECT m.created_at, 'enqueued', 'enqueued to ' || carillon.counted_text(m.tokens, 'token', 'tokens')
            || coalesce(CASE WHEN split.jobs > 1 THEN ' in ' END || carillon.counted_text(split.jobs, 'job', 'jobs'), '')
            || coalesce(', with the reference ' || left(m.reference, 80), ''),
        m.id, NULL::text, jsonb_strip_nulls(jsonb_build_object('tokens', m.tokens, 'jobs', split.jobs, 'reference', m.reference,
            'state', m.state))
    UNION ALL
    SELECT u.noted_at, 'no answer', 'an attempt had no answer, so its push may have arrived', m.id, NULL, NULL
    FROM unanswered u WHERE u.place <= carillon.max_traced()
    UNION ALL
    SELECT c.cancelled_at, 'cancelled', 'cancelled: a push that was in flight may still arrive, and no other is sent', m.id, NULL,
        NULL
    FROM (
        SELECT n.cancelled_at FROM carillon.cancelled n WHERE n.app_id = app.id AND n.message_id = m.id
        UNION ALL
        SELECT split.cancelled_at) c WHERE c.cancelled_at IS NOT NULL
    UNION ALL
    SELECT f.* FROM carillon.trace_failures(app, m.id, since, few) f
    UNION ALL
    SELECT e.* FROM carillon.trace_ended(app, m, cardinality(sent) > 0) e
    UNION ALL
    SELECT s.* FROM unnest(sent) s
    UNION ALL
    SELECT NULL, 'not known', n.what, m.id, NULL, NULL FROM (VALUES
        ('which of its tokens Apple accepted is not kept, only how many', sent = '{}' AND m.tokens > 1 AND m.sent > (
            SELECT count(*) FROM jsonb_array_elements(m.outcomes) AS o WHERE o ->> 'state' = 'sent')),
        (format('only %s of its %s accepted pushes are shown', cardinality(sent), carillon.amount_text(m.sent, 'exact')),
            sent <> '{}' AND m.sent > cardinality(sent)),
        (format('only %s of its %s failed pushes are shown', few, carillon.amount_text(m.failed, 'exact')), m.failed > few),
        (format('only %s of its attempts without an answer are shown', carillon.max_traced()),
            EXISTS (SELECT FROM unanswered u WHERE u.place > carillon.max_traced())),
        ('when its earlier attempts were made is not kept', m.attempts > 1 OR m.state = 'retrying')
    ) AS n(what, applies) WHERE n.applies;
    IF m.waiting > 0 THEN
        RETURN QUERY
        SELECT e.* FROM (
            SELECT count(*) AS jobs, (array_agg(ROW(
                o.state, o.id, m.id, o.lane, o.attempt, o.created_at, o.run_at, o.claimed_at, o.last_status, o.last_reason,
                o.expires_at, NULL)::carillon.waiting_job ORDER BY coalesce(o.run_at, o.claimed_at), o.id))[1] AS job
            FROM carillon.open_jobs(app.id, m.id, split.last_id, true, trace_message.max_rows_read) o
            GROUP BY o.state, o.attempt > 1) q
        CROSS JOIN LATERAL carillon.trace_job(app, q.job, NULL, q.jobs, carillon.waiting_reason(app.id), max_rows_read) e;
        IF NOT FOUND THEN
            RETURN QUERY SELECT now(), 'waiting', coalesce(m.waiting_reason || '; ', '') || m.state
                || ', but not among the newest jobs of the queue, which were read', m.id, NULL::text, NULL::jsonb;
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.trace_message IS 'Internal: returns the rows of trace for a message, if there is one.';
