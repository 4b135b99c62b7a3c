-- Every job that has not ended: ready, scheduled or in flight. A retry also has the time when it is due and the outcome of the
-- previous attempt; without a status, there was no answer.
CREATE OR REPLACE VIEW carillon.pending AS
SELECT 'ready' AS state, m.id, m.app_id, a.name AS app, m.lane, cardinality(m.tokens) AS token_count, m.push_type,
    m.priority, m.topic, m.collapse_id, m.reference, m.attempt, m.origin, m.broadcast_id, m.created_at,
    NULL::timestamptz AS run_at, m.expires_at, NULL::bigint AS worker_id, NULL::timestamptz AS claimed_at,
    m.last_status, m.last_reason
FROM carillon.messages m LEFT JOIN carillon.apps a ON a.id = m.app_id
UNION ALL
SELECT 'scheduled', s.id, s.app_id, a.name, s.lane, cardinality(s.tokens), s.push_type,
    s.priority, s.topic, s.collapse_id, s.reference, s.attempt, s.origin, s.broadcast_id, s.created_at,
    s.run_at, s.expires_at, NULL, NULL, s.last_status, s.last_reason
FROM carillon.scheduled s LEFT JOIN carillon.apps a ON a.id = s.app_id
UNION ALL
SELECT 'in flight', j.id, i.app_id, a.name, j.lane, cardinality(j.tokens), j.push_type,
    j.priority, j.topic, j.collapse_id, j.reference, j.attempt, j.origin, j.broadcast_id, j.created_at,
    NULL, j.expires_at, i.worker_id, i.claimed_at, j.last_status, j.last_reason
FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j LEFT JOIN carillon.apps a ON a.id = i.app_id;
COMMENT ON VIEW carillon.pending IS 'Every job that has not ended: ready, scheduled or in flight.';
COMMENT ON COLUMN carillon.pending.state IS 'ready, scheduled or in flight';
COMMENT ON COLUMN carillon.pending.id IS 'the id of the job';
COMMENT ON COLUMN carillon.pending.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.pending.app IS 'the name of the app; null if there is no such app';
COMMENT ON COLUMN carillon.pending.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN carillon.pending.token_count IS 'the number of its pushes that have not ended';
COMMENT ON COLUMN carillon.pending.push_type IS 'apns-push-type';
COMMENT ON COLUMN carillon.pending.priority IS 'apns-priority; null if not set';
COMMENT ON COLUMN carillon.pending.topic IS 'apns-topic; null means the topic of the app';
COMMENT ON COLUMN carillon.pending.collapse_id IS 'apns-collapse-id';
COMMENT ON COLUMN carillon.pending.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.pending.attempt IS 'the attempt that it waits for, or that is in flight';
COMMENT ON COLUMN carillon.pending.origin IS 'for a retry, or for a part of a job: the job that it comes from';
COMMENT ON COLUMN carillon.pending.broadcast_id IS 'the id of the message, if it is a split message; otherwise null';
COMMENT ON COLUMN carillon.pending.created_at IS 'when it was enqueued';
COMMENT ON COLUMN carillon.pending.run_at IS 'when it is due, if it is scheduled';
COMMENT ON COLUMN carillon.pending.expires_at IS 'the time after which it is not sent';
COMMENT ON COLUMN carillon.pending.worker_id IS 'the worker that has claimed it';
COMMENT ON COLUMN carillon.pending.claimed_at IS 'when it was claimed';
COMMENT ON COLUMN carillon.pending.last_status IS 'for a retry: the status of the previous attempt; null if there was no answer';
COMMENT ON COLUMN carillon.pending.last_reason IS 'for a retry: the reason of the previous attempt';
