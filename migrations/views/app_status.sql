-- One row for each app. The last minute means the current minute of the clock and the one before.
CREATE OR REPLACE VIEW carillon.app_status AS
SELECT a.id AS app_id, a.name AS app, a.paused, a.paused_reason, a.environment, a.protocol, a.topic,
    queue.ready,
    coalesce(claimed.jobs, 0) AS in_flight,
    now() - oldest.created_at AS oldest_age,
    coalesce(counts.sent_last_minute, 0) AS sent_last_minute,
    coalesce(counts.failed_last_minute, 0) AS failed_last_minute,
    coalesce(counts.sent_last_hour, 0) AS sent_last_hour,
    coalesce(counts.failed_last_hour, 0) AS failed_last_hour,
    c.name AS credential,
    CASE WHEN c.id IS NULL THEN 'missing' WHEN c.status = 'ok' OR carillon.validity(c.not_after) = 'expired'
        THEN carillon.validity(c.not_after) ELSE c.status END AS credential_status,
    c.not_after AS credential_not_after,
    c.last_error AS credential_error, a.feedback_error,
    held.kind AS hold_kind, held.reason AS hold_reason, held.since AS held_since, counts.failure_reason,
    carillon.depth_precision(queue.ready) AS ready_precision
FROM carillon.apps a
-- With OFFSET, the queue is counted once for both columns.
CROSS JOIN LATERAL (SELECT carillon.queue_depth(a.id) AS ready OFFSET 0) queue
LEFT JOIN carillon.certificates c ON c.id = a.certificate_id
LEFT JOIN carillon.held_apps held ON held.app_id = a.id
LEFT JOIN LATERAL (
    SELECT sum(t.sent) FILTER (WHERE t.minute >= recent.minute) AS sent_last_minute,
        sum(t.failed) FILTER (WHERE t.minute >= recent.minute) AS failed_last_minute,
        sum(t.sent) AS sent_last_hour, sum(t.failed) AS failed_last_hour,
        -- Only the latest failures, through the index: there may be millions.
        CASE WHEN sum(t.failed) > 0 THEN (
            SELECT latest.reason FROM (
                SELECT f.reason FROM carillon.failures f
                WHERE f.app_id = a.id AND f.failed_at BETWEEN now() - interval '1 hour' AND now()
                ORDER BY f.failed_at DESC LIMIT 100) latest
            GROUP BY latest.reason ORDER BY count(*) DESC, latest.reason LIMIT 1) END AS failure_reason
    FROM carillon.push_counts t, (SELECT date_trunc('minute', now()) - interval '1 minute' AS minute) recent
    WHERE t.app_id = a.id AND t.minute > now() - interval '1 hour'
) counts ON true
LEFT JOIN (
    SELECT i.app_id, sum(cardinality(i.jobs)) AS jobs FROM carillon.inflight i GROUP BY i.app_id
) claimed ON claimed.app_id = a.id
LEFT JOIN LATERAL (
    -- The first job of each lane, by a loose index scan as in filled_lanes(), which readers of the view may not call.
    WITH RECURSIVE first AS (
        (SELECT m.lane, m.created_at FROM carillon.messages m WHERE m.app_id = a.id ORDER BY m.lane, m.id LIMIT 1)
        UNION ALL
        SELECT next.lane, next.created_at FROM first CROSS JOIN LATERAL (
            SELECT m.lane, m.created_at FROM carillon.messages m WHERE m.app_id = a.id AND m.lane > first.lane
            ORDER BY m.lane, m.id LIMIT 1) next)
    -- Whoever enqueues may write created_at: a time in the future or before 2000 must not end in an error.
    SELECT min(least(greatest(f.created_at, '2000-01-01 00:00+00'), now())) AS created_at FROM first f
) oldest ON true;
COMMENT ON VIEW carillon.app_status IS 'The state of each app.';
COMMENT ON COLUMN carillon.app_status.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.app_status.app IS 'the name of the app';
COMMENT ON COLUMN carillon.app_status.paused IS 'whether the app is paused: nothing is sent until it is resumed';
COMMENT ON COLUMN carillon.app_status.paused_reason IS 'why the app is paused, if a reason was given';
COMMENT ON COLUMN carillon.app_status.environment IS 'production or sandbox';
COMMENT ON COLUMN carillon.app_status.protocol IS 'http2 or binary';
COMMENT ON COLUMN carillon.app_status.topic IS 'the topic of messages that name none';
COMMENT ON COLUMN carillon.app_status.ready IS 'the number of ready jobs';
COMMENT ON COLUMN carillon.app_status.in_flight IS 'the number of jobs in flight';
COMMENT ON COLUMN carillon.app_status.oldest_age IS 'how long the oldest ready job has waited';
COMMENT ON COLUMN carillon.app_status.sent_last_minute IS
    'pushes sent since the previous minute began, that is, in the last 60 to 120 seconds; if a worker was killed, its last second '
    'is missing';
COMMENT ON COLUMN carillon.app_status.failed_last_minute IS
    'pushes that failed since the previous minute began, that is, in the last 60 to 120 seconds';
COMMENT ON COLUMN carillon.app_status.sent_last_hour IS
    'pushes sent in the last hour; if a worker was killed, its last second is missing';
COMMENT ON COLUMN carillon.app_status.failed_last_hour IS 'pushes that failed in the last hour';
COMMENT ON COLUMN carillon.app_status.credential IS 'the name of the app''s credential';
COMMENT ON COLUMN carillon.app_status.credential_status IS
    'ok, expiring, expired, invalid, rejected or missing; null if not checked yet';
COMMENT ON COLUMN carillon.app_status.credential_not_after IS 'when its certificate expires';
COMMENT ON COLUMN carillon.app_status.credential_error IS 'what is wrong with the credential';
COMMENT ON COLUMN carillon.app_status.feedback_error IS
    'why the legacy feedback list could not be read; null if there was no error';
COMMENT ON COLUMN carillon.app_status.hold_kind IS
    'why the app cannot send: connection, credential, provider_token, token_updates, setting or database';
COMMENT ON COLUMN carillon.app_status.hold_reason IS 'the reason for the hold, as a sentence; null if there is no hold';
COMMENT ON COLUMN carillon.app_status.held_since IS 'when the hold began';
COMMENT ON COLUMN carillon.app_status.failure_reason IS 'the most frequent reason among the latest 100 failures of the last hour';
COMMENT ON COLUMN carillon.app_status.ready_precision IS 'how exact ready is: exact, at least or about';
