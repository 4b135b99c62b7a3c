-- Records ended pushes in results and unfinished, and the content of failed ones in failed_messages. Cancels, takeovers,
-- withdrawals and settlements call end_messages(); record_ended() in settle.sql itself records messages that end whole in their
-- first attempt. It locks rows of unfinished in order of id.

-- ending() has no SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.ending(message_id bigint, reference text, broadcast_id bigint, created_at timestamptz,
    attempts integer, sent integer DEFAULT 0, failed integer DEFAULT 0, expired integer DEFAULT 0, cancelled integer DEFAULT 0,
    remaining integer DEFAULT NULL, last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL,
    apns_unique_ids jsonb DEFAULT NULL) RETURNS carillon.ending
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(message_id, reference, broadcast_id, created_at, attempts, sent, failed, expired, cancelled, remaining,
        last_status, last_reason, apns_unique_ids)::carillon.ending
$$;
COMMENT ON FUNCTION carillon.ending IS 'Internal: builds a carillon.ending from named arguments: how pushes of one message ended.';

-- A message all of whose pushes are in `endings` gets a row of results at once. Other messages are counted in unfinished, and get
-- their row of results when no pushes remain. If an app has used a message id twice, both messages share a row of unfinished. It
-- may run after use_session_path(). A transaction that is not a worker's does not notify consumers: see store_events().
CREATE OR REPLACE FUNCTION carillon.end_messages(
    app integer, endings carillon.ending[], worker bigint DEFAULT NULL, notifies boolean DEFAULT true
) RETURNS void
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
        PERFORM carillon.note_finished(app, ARRAY(SELECT e.message_id FROM pg_catalog.unnest(endings) AS e), notifies);
        RETURN;
    END IF;
    -- In order of id, so that two workers with jobs of the same messages cannot deadlock.
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
    PERFORM carillon.note_finished(app, ARRAY(SELECT e.message_id FROM pg_catalog.unnest(endings) AS e), notifies);
END
$$;
COMMENT ON FUNCTION carillon.end_messages IS 'Internal: records pushes that have ended, in results or unfinished.';

-- keep_failed_content() adds one row for each message and day; jobs with a payload for each token add a row each time. It may
-- run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.keep_failed_content(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    today CONSTANT pg_catalog.timestamptz :=
        pg_catalog.date_trunc('day', pg_catalog.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
BEGIN
    INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, priority, expires_at,
        collapse_id, topic, reference, on_unknown)
    SELECT DISTINCT ON (coalesce(j.origin, j.id)) coalesce(j.origin, j.id), keep_failed_content.app, j.lane, j.payload,
        j.push_type, j.priority, j.expires_at, j.collapse_id, j.topic, j.reference, j.on_unknown
    FROM pg_catalog.unnest(jobs) AS j
    WHERE j.payloads IS NULL AND NOT EXISTS (
        SELECT FROM carillon.failed_messages k
        WHERE k.app_id = keep_failed_content.app AND k.message_id = coalesce(j.origin, j.id) AND k.failed_at >= today)
    ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM pg_catalog.unnest(jobs) AS j WHERE j.payloads IS NOT NULL) THEN
        INSERT INTO carillon.failed_messages AS k (message_id, app_id, lane, tokens, payloads, push_type, priority,
            expires_at, collapse_id, topic, reference, on_unknown)
        SELECT coalesce(j.origin, j.id), keep_failed_content.app, pg_catalog.min(j.lane),
            pg_catalog.array_agg(pg_catalog.lower(t.token COLLATE pg_catalog."C")), pg_catalog.array_agg(t.payload),
            pg_catalog.min(j.push_type), pg_catalog.min(j.priority), pg_catalog.min(j.expires_at),
            pg_catalog.min(j.collapse_id), pg_catalog.min(j.topic), pg_catalog.min(j.reference),
            pg_catalog.min(j.on_unknown)
        FROM pg_catalog.unnest(jobs) AS j, unnest(j.tokens, j.payloads) AS t(token, payload)
        WHERE j.payloads IS NOT NULL AND t.token IS NOT NULL AND t.payload IS NOT NULL
        GROUP BY coalesce(j.origin, j.id)
        -- Another worker, or an earlier call in this transaction, wrote it at the same time.
        ON CONFLICT (app_id, message_id, failed_at) DO UPDATE SET
            tokens = pg_catalog.array_cat(k.tokens, excluded.tokens),
            payloads = pg_catalog.array_cat(k.payloads, excluded.payloads);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.keep_failed_content IS 'Internal: keeps the content of failed jobs for requeue_failures().';
