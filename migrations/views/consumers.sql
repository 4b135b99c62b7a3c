-- The consumers of events. The end of a split message waits for its other jobs, and does not count before. Without the barrier, the
-- error of a caller's condition could show an isolated role the consumers of other apps.
CREATE OR REPLACE VIEW carillon.consumers WITH (security_barrier) AS
SELECT a.name AS app, s.consumer, carillon.kinds_of(s.mask) AS kinds, w.events, w.oldest_at,
    extract(epoch FROM now() - CASE WHEN isfinite(w.oldest_at) THEN w.oldest_at END)::double precision AS lag_seconds, s.created_at
FROM carillon.subscriptions s JOIN carillon.apps a ON a.id = s.app_id
-- Not a CROSS JOIN: the planner leaves out a LEFT JOIN of which no column is read.
LEFT JOIN LATERAL (
    SELECT coalesce(sum(d.events - d.taken), 0)::bigint AS events, min(d.at) AS oldest_at
    FROM carillon.untaken_events d
    WHERE d.subscription_id = s.id
        -- As in split_message_has_ended(), which readers may not call.
        AND (d.broadcast_id IS NULL OR (
            SELECT b.tokens FROM carillon.split_messages b WHERE b.app_id = s.app_id AND b.id = d.broadcast_id) <= (
            SELECT coalesce(sum(r.sent + r.failed + r.expired + r.cancelled), 0) FROM carillon.results r
            WHERE r.app_id = s.app_id AND r.broadcast_id = d.broadcast_id) + (
            SELECT count(*) FROM carillon.failures f WHERE f.app_id = s.app_id AND f.broadcast_id = d.broadcast_id))
) AS w ON true
WHERE coalesce(s.app_id = ANY (carillon.apps_of_caller()), true);
COMMENT ON VIEW carillon.consumers IS
    'The consumers of events, as made by subscribe, each with what it has not taken yet. A role that is isolated sees those of its '
    'own apps.';
COMMENT ON COLUMN carillon.consumers.app IS 'the name of the app that it follows';
COMMENT ON COLUMN carillon.consumers.consumer IS 'its name';
COMMENT ON COLUMN carillon.consumers.kinds IS 'the kinds of events that it follows; null means all';
COMMENT ON COLUMN carillon.consumers.events IS 'how many events it has not taken yet: exact';
COMMENT ON COLUMN carillon.consumers.oldest_at IS 'when the oldest of them happened; null if there is none';
COMMENT ON COLUMN carillon.consumers.lag_seconds IS 'for how many seconds the oldest has waited; null if there is none';
COMMENT ON COLUMN carillon.consumers.created_at IS 'when it began to follow the app';
