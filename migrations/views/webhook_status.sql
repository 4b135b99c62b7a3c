-- The webhooks, without their secrets. The state of a webhook is decided here, for commands, the dashboard and metrics. Who does
-- not read how much waits does not pay for it: see consumers.
CREATE OR REPLACE VIEW carillon.webhook_status WITH (security_barrier) AS
SELECT w.name, c.app, w.url, c.kinds, w.allows_private,
    CASE WHEN w.paused_at IS NOT NULL THEN 'paused' WHEN w.failed_at IS NOT NULL THEN 'failing' ELSE 'active' END AS state,
    w.paused_reason, w.failing_since, w.attempts, CASE WHEN w.batch IS NOT NULL THEN w.next_attempt_at END AS next_attempt_at,
    w.last_error, w.accepted_at, c.events + coalesce(b.events, 0) AS events, least(c.oldest_at, b.oldest_at) AS oldest_at,
    extract(epoch FROM now() - least(CASE WHEN isfinite(c.oldest_at) THEN c.oldest_at END,
        CASE WHEN isfinite(b.oldest_at) THEN b.oldest_at END))::double precision AS lag_seconds,
    CASE WHEN w.old_secret_until > now() THEN w.old_secret_until END AS old_secret_until, w.created_at,
    w.paused_at, w.paused_by, w.failed_at
FROM carillon.webhooks w JOIN carillon.subscriptions s ON s.id = w.subscription_id JOIN carillon.apps a ON a.id = s.app_id
JOIN carillon.consumers c ON c.app = a.name AND c.consumer = s.consumer
CROSS JOIN LATERAL (
    SELECT sum(r.last - r.first)::bigint AS events, min(r.at) AS oldest_at FROM unnest(w.batch) AS r
) AS b;
COMMENT ON VIEW carillon.webhook_status IS 'The webhooks, each with what its receiver has not accepted yet.';
COMMENT ON COLUMN carillon.webhook_status.name IS 'its name';
COMMENT ON COLUMN carillon.webhook_status.app IS 'the name of the app whose events are posted';
COMMENT ON COLUMN carillon.webhook_status.url IS 'the URL of the receiver';
COMMENT ON COLUMN carillon.webhook_status.kinds IS 'the kinds of events that are posted; null means all';
COMMENT ON COLUMN carillon.webhook_status.allows_private IS 'whether the receiver may have a private address, and use http';
COMMENT ON COLUMN carillon.webhook_status.state IS
    'active; failing: the last attempt failed; paused: nothing is posted until it is resumed';
COMMENT ON COLUMN carillon.webhook_status.paused_reason IS 'why it is paused; null if it is not, or no reason was given';
COMMENT ON COLUMN carillon.webhook_status.failing_since IS
    'when the first of its latest failed attempts failed; null if the last one did not, or it has been resumed since';
COMMENT ON COLUMN carillon.webhook_status.attempts IS 'how many attempts of its present batch were begun';
COMMENT ON COLUMN carillon.webhook_status.next_attempt_at IS 'when its present batch is attempted next; null if there is none';
COMMENT ON COLUMN carillon.webhook_status.last_error IS 'why the last attempt failed; null if it did not';
COMMENT ON COLUMN carillon.webhook_status.accepted_at IS 'when the receiver last accepted a batch; null if never';
COMMENT ON COLUMN carillon.webhook_status.events IS 'how many events the receiver has not accepted yet: exact';
COMMENT ON COLUMN carillon.webhook_status.oldest_at IS 'when the oldest of them happened; null if there is none';
COMMENT ON COLUMN carillon.webhook_status.lag_seconds IS 'for how many seconds the oldest has waited; null if there is none';
COMMENT ON COLUMN carillon.webhook_status.old_secret_until IS
    'until when requests are signed with the secret before this one too; null if they are not';
COMMENT ON COLUMN carillon.webhook_status.created_at IS 'when it was added';
COMMENT ON COLUMN carillon.webhook_status.paused_at IS 'when it was paused; null if it is not';
COMMENT ON COLUMN carillon.webhook_status.paused_by IS
    'who paused it; null if it is not, or if a worker did so because of its receiver';
COMMENT ON COLUMN carillon.webhook_status.failed_at IS 'when the last attempt failed; null if it did not';
