-- What is known of a message, a reference, a device token or an owner, in the order of time and in plain words. Users call trace().
-- It only reads, with the readers of message_status and search_token, and each query stops after a fixed number of rows. Rows at
-- the end say what is not recorded, or was not read.

-- trace_tokens() sets what token_history() and token_jobs() expect of their callers. It names the owner of a token, but if an owner
-- is traced, not another one.
CREATE OR REPLACE FUNCTION carillon.trace_tokens(
    app carillon.apps, tokens text[], traced_owner text, since timestamptz, max_rows_read integer
) RETURNS SETOF carillon.trace_event
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    texts CONSTANT text[] := carillon.token_texts(tokens);
    bytes CONSTANT bytea[] := carillon.token_bytes(tokens);
    reason CONSTANT text := carillon.waiting_reason(app.id);
BEGIN
    RETURN QUERY
    WITH history AS MATERIALIZED (
        SELECT h.* FROM carillon.token_history(app.id, texts, bytes, since, max_rows_read) h WHERE h.event IS NOT NULL
    ), job AS MATERIALIZED (
        SELECT j AS open, row_number() OVER (ORDER BY j.id DESC) AS place
        FROM carillon.token_jobs(app.id, texts, max_rows_read) j ORDER BY j.id DESC LIMIT carillon.max_traced() + 1
    ), newest AS (
        SELECT (j.open).* FROM job j WHERE j.place <= carillon.max_traced()
    )
    SELECT h.at, h.event, CASE h.event WHEN 'registered' THEN 'last registered'
            WHEN 'failed' THEN carillon.failure_text(h.status, h.reason, h.attempt)
            WHEN 'sent' THEN carillon.sent_text(app, h.apns_id)
            WHEN 'dead since' THEN 'Apple says: dead since then'
            WHEN 'reported dead' THEN 'Apple reported the token dead' || coalesce(': ' || h.reason, '')
            ELSE 'a feedback pass handled the report: it deletes a token that was not registered again' END,
        h.message_id, carillon.token_text(h.token), nullif(jsonb_strip_nulls(jsonb_build_object('status', h.status,
            'reason', h.reason, 'attempt', h.attempt, 'apns_id', h.apns_id,
            'broadcast_id', CASE h.event WHEN 'sent' THEN carillon.split_message_of(app.id, h.message_id) END)), '{}')
    FROM history h
    UNION ALL
    SELECT h.requeued_at, 'requeued', 'enqueued again as a new message', h.message_id, carillon.token_text(h.token), NULL
    FROM history h WHERE h.requeued_at IS NOT NULL
    UNION ALL
    SELECT now(), s.event, s.what, NULL, carillon.token_text(g.token),
        nullif(jsonb_strip_nulls(jsonb_build_object('kind', k.kind, 'expires_at', k.expires_at)), '{}')
    FROM unnest(tokens) AS g(token) LEFT JOIN carillon.tokens k ON k.app_id = app.id AND k.token = g.token
    CROSS JOIN LATERAL (
        SELECT max(h.at) FILTER (WHERE h.event = 'dead since') AS died_at,
            count(*) FILTER (WHERE h.event = 'dead since') > count(*) FILTER (WHERE h.event = 'reaped') AS has_report
        FROM history h WHERE h.token = g.token) d
    CROSS JOIN LATERAL (VALUES
        ('left out', 'left out of broadcasts: Apple reported the token dead, and it is not registered',
            k.token IS NULL AND d.died_at IS NOT NULL),
        ('not registered', 'not registered: broadcasts leave it out', k.token IS NULL AND d.died_at IS NULL),
        ('left out', 'left out of broadcasts: its registration has expired', k.expires_at <= now()),
        ('to be deleted', 'registered, but Apple reported it dead after that: the next feedback pass deletes it, unless it is '
            || 'registered again before', k.last_update < d.died_at AND d.has_report),
        ('owner', CASE WHEN traced_owner IS NULL THEN 'registered for the owner ' || left(k.owner, 80)
            ELSE 'registered for another owner now' END, k.owner <> traced_owner OR traced_owner IS NULL AND k.owner IS NOT NULL),
        ('in broadcasts', 'registered: broadcasts to all tokens of kind ' || k.kind || ' reach it',
            k.token IS NOT NULL AND (k.expires_at > now()) IS NOT FALSE
                AND (k.last_update < d.died_at AND d.has_report) IS NOT TRUE)
    ) AS s(event, what, applies) WHERE s.applies
    UNION ALL
    SELECT j.created_at, 'enqueued', 'enqueued', j.message_id,
        CASE WHEN cardinality(j.tokens) = 1 THEN carillon.token_text(j.tokens[1]) END, NULL
    FROM newest j
    UNION ALL
    SELECT e.* FROM newest j CROSS JOIN LATERAL unnest(j.tokens) AS t(token)
    CROSS JOIN LATERAL carillon.trace_job(app, j, t.token, 1, reason, max_rows_read) e
    UNION ALL
    SELECT NULL, 'not known', format('more jobs have not ended: these are the newest %s', carillon.max_traced()), NULL, NULL, NULL
    FROM job j WHERE j.place > carillon.max_traced();
END
$$;
COMMENT ON FUNCTION carillon.trace_tokens IS 'Internal: returns the rows of trace for some tokens of an app.';

-- owner_tokens() returns the tokens that are registered for an owner, and those that a feedback pass has deleted. A range and an
-- ORDER BY force the indexes by owner: the planner may expect that many tokens of the app have this owner.
CREATE OR REPLACE FUNCTION carillon.owner_tokens(
    app integer, owner text, max_rows integer, OUT registered text[], OUT deleted text[], OUT deleted_at timestamptz
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
BEGIN
    registered := ARRAY(
        SELECT k.token FROM carillon.tokens k
        WHERE k.app_id = owner_tokens.app AND k.owner BETWEEN owner_tokens.owner AND owner_tokens.owner
        ORDER BY k.app_id, k.owner LIMIT max_rows);
    SELECT array_agg(DISTINCT lower(n.token)) FILTER (WHERE lower(n.token) <> ALL (registered)), max(n.handled_at)
    INTO deleted, deleted_at
    FROM (
        SELECT d.token, d.handled_at FROM carillon.feedback d
        WHERE d.app_id = owner_tokens.app AND d.owner BETWEEN owner_tokens.owner AND owner_tokens.owner
        ORDER BY d.app_id, d.owner LIMIT max_rows) n;
END
$$;
COMMENT ON FUNCTION carillon.owner_tokens IS 'Internal: returns the tokens of an owner; at most max_rows of each kind.';

CREATE OR REPLACE FUNCTION carillon.trace_owner(app carillon.apps, owner text, since timestamptz, max_rows_read integer)
RETURNS SETOF carillon.trace_event
LANGUAGE plpgsql STABLE AS $$
DECLARE
    few CONSTANT integer := carillon.max_traced();
    known CONSTANT record := carillon.owner_tokens(app.id, owner, few + 1);
BEGIN
    RETURN QUERY SELECT e.* FROM carillon.trace_tokens(
        app, known.registered[:few] || known.deleted[:few], owner, since, max_rows_read) e;
    RETURN QUERY
    SELECT coalesce(known.deleted_at, now()), 'not registered', 'no token of this owner is '
            || CASE WHEN known.deleted_at IS NULL THEN 'registered' ELSE 'known to have been registered since' END
            || ': broadcasts leave the owner out', NULL::bigint, NULL::text, NULL::jsonb
    WHERE known.registered = '{}'
    UNION ALL
    SELECT NULL, 'not known', 'which other tokens the owner had is not kept, but for dead ones that were deleted recently: one '
        || 'may be registered for another owner now, which a trace of the token shows', NULL, NULL, NULL
    WHERE known.registered = '{}'
    UNION ALL
    SELECT NULL, 'not known', format('the owner has more than %s tokens, of which %s are shown', few, few), NULL, NULL, NULL
    WHERE greatest(cardinality(known.registered), cardinality(known.deleted)) > few;
END
$$;
COMMENT ON FUNCTION carillon.trace_owner IS 'Internal: returns the rows of trace for the tokens of an owner.';

-- trace_broadcasts() has messages that may have been to one of the tokens in `known`, and are not listed there, and says of
-- broadcasts to another kind that they were not. Of messages to at most 1,000 tokens, split_messages has only broadcasts. Jobs that
-- have ended are counted, unless the message has more than `max_rows_read`.
CREATE OR REPLACE FUNCTION carillon.trace_broadcasts(app carillon.apps, known carillon.trace_event[], max_rows_read integer)
RETURNS SETOF carillon.trace_event
LANGUAGE sql STABLE AS $$
    WITH newest AS MATERIALIZED (
        SELECT n.*, row_number() OVER () AS place FROM (
            SELECT * FROM carillon.split_messages s
            WHERE s.app_id = app.id AND EXISTS (SELECT FROM unnest(known) k WHERE k.token IS NOT NULL)
                AND s.id NOT IN (SELECT k.message_id FROM unnest(known) k WHERE k.message_id IS NOT NULL)
                AND s.id NOT IN (SELECT (k.details ->> 'broadcast_id')::bigint FROM unnest(known) k
                    WHERE k.details ? 'broadcast_id')
            ORDER BY s.app_id DESC, s.id DESC LIMIT 6) n
    ), kinds AS MATERIALIZED (
        -- Null if one of the tokens is not registered, so that its kind is not known.
        SELECT CASE WHEN count(t.kind) = count(*) THEN array_agg(t.kind) END AS of_tokens
        FROM (SELECT DISTINCT k.token FROM unnest(known) k WHERE k.token IS NOT NULL) AS g
        LEFT JOIN carillon.tokens t ON t.app_id = app.id AND t.token = lower(g.token)
    )
    SELECT n.created_at, CASE WHEN n.is_left_out THEN 'left out' WHEN c.expired + c.cancelled < n.tokens THEN 'many tokens'
            WHEN c.cancelled = 0 THEN 'expired' WHEN c.expired + c.cancelled >= n.tokens THEN 'cancelled' ELSE 'many tokens' END,
        CASE WHEN n.is_left_out THEN 'left out of ' ELSE '' END
        || CASE WHEN n.tokens > 1000 AND n.kind IS NULL THEN 'a message to ' ELSE 'a broadcast to ' END
        || carillon.counted_text(n.tokens, 'token', 'tokens')
        || CASE WHEN n.is_left_out THEN ': no token of kind ' || n.kind
            ELSE ' was enqueued: this one may have been among them' || coalesce('; of them, ' || nullif(c.counts, ''), '') END,
        n.id, NULL::text, jsonb_strip_nulls(jsonb_build_object('tokens', n.tokens, 'kind', n.kind, 'sent', c.sent,
            'failed', c.failed, 'expired', c.expired, 'cancelled', c.cancelled))
    FROM (SELECT n.*, (n.kind <> ALL (k.of_tokens)) IS TRUE AS is_left_out FROM newest n CROSS JOIN kinds k WHERE n.place <= 5) AS n
    CROSS JOIN LATERAL (
        SELECT e.*, concat_ws(', ', carillon.amount_text(nullif(e.sent, 0), 'exact') || ' accepted by Apple',
            carillon.amount_text(nullif(e.failed, 0), 'exact') || ' failed',
            carillon.amount_text(nullif(e.expired, 0), 'exact') || ' dropped, because expires_at had passed',
            carillon.amount_text(nullif(e.cancelled, 0), 'exact') || ' cancelled or replaced by a newer push') AS counts
        FROM (
            SELECT sum(r.sent) AS sent, sum(r.failed) AS failed, sum(r.expired) AS expired, sum(r.cancelled) AS cancelled
            FROM carillon.results r WHERE r.app_id = app.id AND r.broadcast_id = n.id AND n.jobs <= max_rows_read) AS e) AS c
    UNION ALL
    SELECT NULL, 'not known', 'more broadcasts, or messages to more than 1,000 tokens, were enqueued: these are the newest 5', NULL,
        NULL, NULL
    FROM newest n WHERE n.place > 5
$$;
COMMENT ON FUNCTION carillon.trace_broadcasts IS 'Internal: returns the rows of trace for messages whose tokens are not kept.';

-- trace_limits() says what was not read, or is not recorded.
CREATE OR REPLACE FUNCTION carillon.trace_limits(
    app carillon.apps, by_token boolean, reference text, max_rows_read integer
) RETURNS SETOF carillon.trace_event
LANGUAGE sql STABLE AS $$
    SELECT NULL::timestamptz, 'not known', CASE WHEN app.keep_sent IS NULL THEN 'a push that was accepted, expired, cancelled or '
            || 'replaced is not kept by its token' ELSE 'a push that expired, was cancelled or replaced is not kept by its token, '
            || 'and one that was accepted only for ' || app.keep_sent END
        || ': trace its reference or message_id to find it. docs/troubleshooting.md has a query for those that expired, were '
        || 'cancelled or replaced; a consumer of the kinds expired and superseded gets their tokens',
        NULL::bigint, NULL::text, NULL::jsonb
    WHERE by_token
    UNION ALL
    SELECT NULL, 'not known', 'there may be more: of the waiting jobs'
        || CASE WHEN by_token THEN CASE WHEN app.keep_sent IS NULL THEN '' ELSE ', accepted pushes' END
            || ', failures and reports of dead tokens' ELSE '' END
        || ' of the app, only the newest were read: a higher max_rows_read reads more', NULL, NULL,
        jsonb_build_object('max_rows_read', max_rows_read)
    WHERE EXISTS (SELECT FROM carillon.unsearched_apps(max_rows_read, by_token, app.name))
    UNION ALL
    SELECT NULL, 'not known', 'there may be more: so many messages have this reference that not all were read', NULL, NULL, NULL
    WHERE EXISTS (
        SELECT FROM carillon.results r WHERE r.reference = trace_limits.reference OFFSET carillon.max_referenced() LIMIT 1)
    UNION ALL
    SELECT NULL, 'not known', 'the app has device tokens in a table of its own, which is not read', NULL, NULL, NULL
    WHERE by_token AND EXISTS (SELECT FROM carillon.watched_tables w WHERE w.app_id = app.id)
$$;
COMMENT ON FUNCTION carillon.trace_limits IS 'Internal: returns the rows of trace about what it does not know.';

-- trace_rows() returns them in any order.
CREATE OR REPLACE FUNCTION carillon.trace_rows(
    app carillon.apps, owner text, token text, reference text, message_id bigint, since timestamptz, max_rows_read integer
) RETURNS SETOF carillon.trace_event
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id bigint;
    shown integer := 0;
BEGIN
    IF owner IS NOT NULL THEN
        RETURN QUERY SELECT e.* FROM carillon.trace_owner(app, owner, since, max_rows_read) e;
    ELSIF token IS NOT NULL THEN
        RETURN QUERY SELECT e.* FROM carillon.trace_tokens(app, ARRAY[carillon.token(token)], NULL, since, max_rows_read) e;
    ELSE
        FOR found_id IN
            SELECT trace_rows.message_id WHERE trace_rows.message_id IS NOT NULL
            UNION ALL
            (SELECT s.id FROM carillon.search_reference(trace_rows.reference, max_rows_read, app.name) s
            WHERE trace_rows.reference IS NOT NULL ORDER BY s.id DESC LIMIT carillon.max_traced() + 1)
        LOOP
            shown := shown + 1;
            IF shown > carillon.max_traced() THEN
                RETURN QUERY SELECT NULL::timestamptz, 'not known',
                    format('more messages have this reference: these are the newest %s', carillon.max_traced()), NULL::bigint,
                    NULL::text, NULL::jsonb;
                EXIT;
            END IF;
            RETURN QUERY SELECT e.* FROM carillon.trace_message(app, found_id, since, max_rows_read) e;
        END LOOP;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.trace_rows IS 'Internal: returns the rows of trace, in any order.';

CREATE OR REPLACE FUNCTION carillon.trace(
    app text, owner text DEFAULT NULL, token text DEFAULT NULL, reference text DEFAULT NULL, message_id bigint DEFAULT NULL,
    since interval DEFAULT NULL, max_rows_read integer DEFAULT NULL
) RETURNS SETOF carillon.trace_event
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp SET jit = off AS $$
DECLARE
    depth CONSTANT integer := greatest(coalesce(trace.max_rows_read, 2000), 1);
    chosen carillon.apps;
    refusal carillon.refusal;
    horizon timestamptz;
    known carillon.trace_event[];
BEGIN
    SELECT a.* INTO chosen FROM carillon.apps a WHERE a.name = trace.app AND carillon.may_use(a);
    IF chosen.id IS NULL THEN
        refusal := carillon.unknown_app(trace.app);
    ELSIF num_nonnulls(trace.owner, trace.token, trace.reference, trace.message_id) <> 1 THEN
        refusal := carillon.refusal('owner', 'exactly one of owner, token, reference and message_id',
            CASE num_nonnulls(trace.owner, trace.token, trace.reference, trace.message_id) WHEN 0 THEN 'none of them'
                ELSE 'several of them' END, 'For example: trace(''acme'', owner => ''u-42'').');
    ELSIF trace.owner = '' THEN
        refusal := carillon.refusal('owner', 'the owner of tokens', quote_literal(trace.owner),
            'Pass what register_token was given as owner.');
    ELSIF trace.token IS NOT NULL AND carillon.token(trace.token) IS NULL THEN
        refusal := carillon.check_choice(trace.app, chosen.id, trace.token, NULL);
    ELSIF trace.since <= interval '0' OR trace.since > interval '100 years' THEN
        refusal := carillon.refusal('since', 'an interval above 0 and at most 100 years', quote_literal(trace.since),
            'Leave it out for everything that is kept.');
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    horizon := coalesce(now() - trace.since, '-infinity');
    known := ARRAY(
        SELECT r FROM carillon.trace_rows(chosen, trace.owner, trace.token, trace.reference, trace.message_id, horizon, depth) r);
    RETURN QUERY
    SELECT e.* FROM (
        SELECT * FROM unnest(known)
        UNION ALL
        SELECT now(), 'not found', 'no message of this app: enqueue returned null (no device tokens, or the dedupe_key was taken), '
            || 'it was not committed, it is of another app, or it is older than the retention', trace.message_id, NULL, NULL
        WHERE known = '{}'
        UNION ALL
        SELECT b.* FROM carillon.trace_broadcasts(chosen, known, depth) b WHERE num_nonnulls(trace.owner, trace.token) > 0
        UNION ALL
        SELECT l.* FROM carillon.trace_limits(chosen, num_nonnulls(trace.owner, trace.token) > 0, trace.reference, depth) l
        WHERE trace.message_id IS NULL
    ) e
    -- What is so now is shown even if it began earlier.
    WHERE e.at IS NULL OR e.at >= horizon OR e.event IN ('registered', 'not registered', 'in flight')
    ORDER BY e.at IS NULL AND e.event = 'enqueued' DESC, e.at NULLS LAST, e.message_id, e.token, e.event, e.what;
END
$$;
COMMENT ON FUNCTION carillon.trace IS
    'Returns what is known of an owner, a device token, a reference or a message of an app, in the order of time and in plain '
    'words. Pass exactly one of them. Reads the newest max_rows_read rows (2,000 if null) of each table that has no index for it, '
    'and says at the end what it did not read or what is not recorded.';
