-- Requeues failed pushes: as new messages, with the content that keep_failed_content() has kept. Users call requeue_failures().

-- A push that was refused for the content of its row would be refused again.
CREATE OR REPLACE FUNCTION carillon.can_requeue(status smallint, reason text, include_unknown boolean, include_delivered boolean)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT status IS DISTINCT FROM 410 AND (status IS NOT NULL OR reason NOT IN ('MalformedToken', 'MalformedPayload',
            'PayloadTooLarge', 'MalformedCollapseId', 'MalformedOnUnknown', 'UnknownPriority', 'UnknownPushType', 'Unreadable',
            'PayloadEmpty', 'MismatchedPayloads'))
        AND (include_delivered OR status IS DISTINCT FROM 200)
        AND (include_unknown OR status IS NOT NULL OR reason NOT IN ('OutcomeUnknown', 'Unrecorded'))
$$;
COMMENT ON FUNCTION carillon.can_requeue IS 'Internal: returns whether a failure can be requeued.';

-- kept_payloads() uses no join: without statistics on the number of tokens, it would compare every token with every other.
CREATE OR REPLACE FUNCTION carillon.kept_payloads(app integer, message bigint, failed text[]) RETURNS json[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(k.latest ORDER BY k.place) FROM (
        SELECT b.place, first_value(b.payload) OVER (PARTITION BY b.key ORDER BY b.failed_at DESC NULLS LAST) AS latest
        FROM (
            SELECT lower(c.token COLLATE "C") AS key, c.place, NULL::json AS payload, NULL::timestamptz AS failed_at
            FROM unnest(failed) WITH ORDINALITY AS c(token, place)
            UNION ALL
            SELECT u.token COLLATE "C", NULL, u.payload, m.failed_at
            FROM carillon.failed_messages m, unnest(m.tokens, m.payloads) AS u(token, payload)
            WHERE m.app_id = app AND m.message_id = message
        ) AS b
    ) AS k WHERE k.place IS NOT NULL
$$;
COMMENT ON FUNCTION carillon.kept_payloads IS
    'Internal: returns the payloads kept for failed tokens of a message; the latest if a token has several.';

CREATE OR REPLACE FUNCTION carillon.was_cancelled(app integer, message bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM carillon.cancelled c
            WHERE c.app_id = was_cancelled.app AND c.message_id = was_cancelled.message)
        OR EXISTS (
            SELECT FROM (
                SELECT r.broadcast_id, r.cancelled FROM carillon.results r
                WHERE r.app_id = was_cancelled.app AND r.message_id = was_cancelled.message
                UNION ALL
                SELECT u.broadcast_id, u.cancelled FROM carillon.unfinished u
                WHERE u.app_id = was_cancelled.app AND u.message_id = was_cancelled.message
            ) AS m
            LEFT JOIN carillon.split_messages b ON b.app_id = was_cancelled.app AND b.id = m.broadcast_id
            WHERE m.cancelled > 0 OR b.cancelled_at IS NOT NULL)
$$;
COMMENT ON FUNCTION carillon.was_cancelled IS 'Internal: returns whether a message was cancelled, at least in part.';

-- failed_apps() is a loose index scan.
CREATE OR REPLACE FUNCTION carillon.failed_apps() RETURNS TABLE (app_id integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE failed AS (
        (SELECT f.app_id FROM carillon.failures f ORDER BY f.app_id LIMIT 1)
        UNION ALL
        SELECT next.app_id FROM failed CROSS JOIN LATERAL (
            SELECT f.app_id FROM carillon.failures f WHERE f.app_id > failed.app_id ORDER BY f.app_id LIMIT 1) next
    )
    SELECT f.app_id FROM failed f
$$;
COMMENT ON FUNCTION carillon.failed_apps IS 'Internal: returns the apps that have failures.';

-- requeueable() filters by reason and messages, either of which may be null. If each token has its own payload, it includes only
-- tokens whose payload was kept. Tokens and payloads are matched by sorting, because a join would compare every token with every
-- other.
CREATE OR REPLACE FUNCTION carillon.requeueable(
    app integer, reason text, messages bigint[], lower timestamptz, upper timestamptz, include_unknown boolean,
    include_delivered boolean
) RETURNS TABLE (message_id bigint, token text, partition oid, row_address tid)
LANGUAGE sql STABLE AS $$
    WITH failed AS MATERIALIZED (
        SELECT f.message_id, f.token, f.tableoid, f.ctid, EXISTS (
            SELECT FROM carillon.failed_messages m WHERE m.app_id = requeueable.app AND m.message_id = f.message_id
                AND m.tokens IS NULL AND (m.expires_at IS NULL OR m.expires_at > now() OR m.expires_at = 'epoch')) AS has_content
        FROM carillon.failures f
        WHERE f.app_id = requeueable.app AND f.requeued_at IS NULL AND f.failed_at >= requeueable.lower
            AND f.failed_at <= requeueable.upper
            AND carillon.can_requeue(f.status, f.reason, include_unknown, include_delivered)
            AND (requeueable.reason IS NULL OR f.reason = requeueable.reason)
            AND (messages IS NULL OR f.message_id = ANY (messages))
            AND (messages IS NOT NULL OR f.dismissed_at IS NULL AND NOT carillon.was_cancelled(f.app_id, f.message_id))
    ), item AS (
        SELECT f.message_id, pg_catalog.lower(f.token COLLATE "C") AS key, f.token, f.tableoid, f.ctid FROM failed f
        WHERE NOT f.has_content
        UNION ALL
        SELECT m.message_id, u.token COLLATE "C", NULL, NULL, NULL
        FROM carillon.failed_messages m CROSS JOIN LATERAL unnest(m.tokens) AS u(token)
        WHERE m.app_id = requeueable.app
            AND m.message_id = ANY (ARRAY(SELECT DISTINCT f.message_id FROM failed f WHERE NOT f.has_content))
            AND m.tokens IS NOT NULL AND (m.expires_at IS NULL OR m.expires_at > now() OR m.expires_at = 'epoch')
    ), matched AS (
        SELECT i.*, bool_or(i.tableoid IS NULL) OVER (PARTITION BY i.message_id, i.key) AS is_kept FROM item i
    )
    SELECT f.message_id, f.token, f.tableoid, f.ctid FROM failed f WHERE f.has_content
    UNION ALL
    SELECT m.message_id, m.token, m.tableoid, m.ctid FROM matched m WHERE m.is_kept AND m.tableoid IS NOT NULL
$$;
COMMENT ON FUNCTION carillon.requeueable IS 'Internal: returns the failures of an app between two times that can be requeued.';

CREATE OR REPLACE FUNCTION carillon.requeue_some(
    app integer, reason text, messages bigint[], lower timestamptz, upper timestamptz, include_unknown boolean,
    include_delivered boolean
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET jit = off AS $$
DECLARE
    requeued bigint;
BEGIN
    -- One call at a time: the next one finds what is left.
    PERFORM FROM carillon.app_locks l WHERE l.app_id = requeue_some.app AND l.lock_number = 64 FOR UPDATE;
    WITH again AS (
        UPDATE carillon.failures f SET requeued_at = now()
        FROM carillon.requeueable(requeue_some.app, requeue_some.reason, requeue_some.messages, requeue_some.lower,
            requeue_some.upper, requeue_some.include_unknown, requeue_some.include_delivered) AS r
        -- Located by ctid, because failures of one message have the same values in most columns.
        WHERE f.tableoid = r.partition AND f.ctid = r.row_address AND f.requeued_at IS NULL
        RETURNING f.message_id, f.token
    ), message AS (
        SELECT a.message_id, array_agg(DISTINCT a.token) AS tokens, count(*) AS pushes FROM again a GROUP BY a.message_id
    ), stored AS (
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown)
        SELECT requeue_some.app, m.lane, a.tokens, m.payload, CASE WHEN m.tokens IS NOT NULL
            THEN carillon.kept_payloads(requeue_some.app, a.message_id, a.tokens) END, m.push_type, m.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, m.on_unknown
        FROM message a CROSS JOIN LATERAL (
            SELECT * FROM carillon.failed_messages m WHERE m.app_id = requeue_some.app AND m.message_id = a.message_id
            ORDER BY m.failed_at DESC LIMIT 1) m
        ORDER BY a.message_id
    )
    SELECT sum(a.pushes) INTO requeued FROM message a;
    RETURN coalesce(requeued, 0);
END
$$;
COMMENT ON FUNCTION carillon.requeue_some IS 'Internal: requeues failures of an app, and returns the number of pushes.';

-- requeue_failures() leaves out dead tokens and expired messages, and requeues nothing twice. include_delivered also requeues
-- pushes that Apple accepted but that could not be recorded; include_unknown also requeues pushes that Apple may have accepted,
-- because no answer was recorded. Failures that were dismissed, and those of cancelled messages, are requeued only by message id.
CREATE OR REPLACE FUNCTION carillon.requeue_failures(
    app text DEFAULT NULL, reason text DEFAULT NULL, since interval DEFAULT NULL, message_id bigint DEFAULT NULL,
    include_unknown boolean DEFAULT false, include_delivered boolean DEFAULT false, everything boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- `make docs` writes the reasons of APNs and of Carillon. Reasons of other gateways are found in failures.
    reasons CONSTANT text[] := ARRAY[
        'BadCertificate', 'BadCertificateEnvironment', 'BadChannelId', 'BadCollapseId', 'BadDeviceToken',
        'BadEnvironmentKeyIdInToken', 'BadEnvironmentKeyInToken', 'BadExpirationDate', 'BadMessageId', 'BadPath', 'BadPriority',
        'BadRequestParams', 'BadRequestPayload', 'BadTopic', 'BroadcastFeatureNotEnabled', 'CannotCreateChannelConfig',
        'ChannelNotRegistered', 'DeviceTokenNotForTopic', 'DuplicateHeaders', 'ExpiredProviderToken', 'ExpiredToken',
        'FeatureNotEnabled', 'Forbidden', 'IdleTimeout', 'InternalServerError', 'InvalidProviderToken', 'InvalidPushType',
        'MalformedCollapseId', 'MalformedHeader', 'MalformedOnUnknown', 'MalformedPayload', 'MalformedToken', 'MalformedTopic',
        'MethodNotAllowed', 'MismatchedPayloads', 'MissingChannelId', 'MissingChannelQueueSize', 'MissingDeviceToken',
        'MissingProviderToken', 'MissingPushType', 'MissingTopic', 'OutcomeUnknown', 'PayloadEmpty', 'PayloadTooLarge',
        'Poison', 'ServiceUnavailable', 'Shutdown', 'TooManyProviderTokenUpdates', 'TooManyRequests', 'TopicDisallowed',
        'TopicMismatch', 'TopicNotAllowed', 'UnknownApp', 'UnknownPriority', 'UnknownPushType', 'Unqueued', 'Unreadable',
        'Unrecorded', 'Unregistered', 'UnrelatedKeyIdInToken'
    ];
    chosen CONSTANT integer[] := carillon.chosen_apps(requeue_failures.app);
    refusal carillon.refusal;
    horizon timestamptz;
    target record;
    again bigint;
    pushes bigint := 0;
BEGIN
    IF requeue_failures.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(requeue_failures.app);
    ELSIF since <= interval '0' OR since > interval '100 years' THEN
        refusal := carillon.refusal('since', 'an interval above 0 and at most 100 years',
            quote_literal(since), 'Leave it out for everything.');
    ELSIF requeue_failures.reason = 'OutcomeUnknown' AND include_unknown IS NOT TRUE THEN
        -- A reason selects failures; it is not consent to send them twice.
        refusal := carillon.refusal('include_unknown', 'true if reason is OutcomeUnknown', include_unknown::text,
            'These pushes may have been delivered. A device that has received one receives it again.');
    ELSIF requeue_failures.reason <> ALL (reasons)
        AND NOT EXISTS (SELECT FROM carillon.failures f
            WHERE f.reason = requeue_failures.reason AND (chosen IS NULL OR f.app_id = ANY (chosen)))
    THEN
        refusal := carillon.refusal('reason', 'a reason for which pushes fail', quote_literal(requeue_failures.reason),
            'Reasons are those of APNs, such as BadDeviceToken, or of Carillon, such as OutcomeUnknown. '
            'SELECT DISTINCT reason FROM carillon.failures shows those of present failures.');
    ELSIF num_nonnulls(requeue_failures.app, requeue_failures.reason, since, requeue_failures.message_id) = 0
        AND everything IS NOT TRUE
    THEN
        refusal := (
            SELECT carillon.refusal('everything', 'true if app, reason, since and message_id are left out or null',
                format('%s: %s %s of %s %s would be sent again', coalesce(everything::text, 'null'),
                    count(*), CASE count(*) WHEN 1 THEN 'push' ELSE 'pushes' END,
                    count(DISTINCT a.app_id), CASE count(DISTINCT a.app_id) WHEN 1 THEN 'app' ELSE 'apps' END),
                'Name an app, a reason, an interval or a message, or write everything => true.')
            FROM carillon.failed_apps() AS a
            CROSS JOIN LATERAL carillon.requeueable(a.app_id, NULL, NULL, '-infinity', 'infinity', include_unknown,
                include_delivered) AS r
            WHERE chosen IS NULL OR a.app_id = ANY (chosen));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    horizon := coalesce(now() - since, '-infinity');
    FOR target IN
        SELECT p.app_id, array_agg(p.message_id) AS messages FROM carillon.message_jobs(requeue_failures.message_id) p
        WHERE requeue_failures.message_id IS NOT NULL GROUP BY p.app_id
        UNION ALL
        SELECT a.app_id, NULL FROM carillon.failed_apps() a WHERE requeue_failures.message_id IS NULL
        ORDER BY app_id
    LOOP
        CONTINUE WHEN target.app_id <> ALL (chosen);
        again := carillon.requeue_some(target.app_id, requeue_failures.reason, target.messages, horizon, 'infinity',
            include_unknown, include_delivered);
        pushes := pushes + again;
        IF again > 0 THEN
            PERFORM carillon.record_change('requeue', (SELECT a.name FROM carillon.apps a WHERE a.id = target.app_id),
                jsonb_build_object('reason', requeue_failures.reason, 'pushes', again, 'since', since,
                    'message_id', requeue_failures.message_id, 'include_unknown', nullif(include_unknown, false),
                    'include_delivered', nullif(include_delivered, false)));
        END IF;
    END LOOP;
    RETURN pushes;
END
$$;
COMMENT ON FUNCTION carillon.requeue_failures IS
    'Enqueues failed pushes again as new messages, each only once: those of an app, for a reason, within an interval, or of a '
    'message. Without any of these, raises an error with their number, unless everything is true. Returns the number of pushes: '
    '0 if none matches or all were requeued before. Recorded in audit.';
