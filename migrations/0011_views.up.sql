-- What people and dashboards look at. Views read with their owner's rights: a reader needs no right on what is below.

-- Everything that has not ended: ready, scheduled and in flight. Of a retry: when it is due, and how the attempt before it
-- ended, which without a status had no answer.
CREATE VIEW carillon.pending AS
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

-- Jobs that are ready for an app: counted up to 1,000, and beyond that as the planner sees it. Counting starts at the
-- newest, since it is at the oldest end that workers leave dead rows behind. Volatile, or EXPLAIN would be refused.
CREATE FUNCTION carillon.queue_depth(app_id integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    depth bigint;
    plan json;
BEGIN
    SELECT count(*) INTO depth FROM (
        SELECT FROM carillon.messages m WHERE m.app_id = queue_depth.app_id
        ORDER BY m.lane DESC, m.id DESC LIMIT 1001) few;
    IF depth > 1000 THEN
        EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.messages WHERE app_id = %s', queue_depth.app_id)
            INTO plan;
        depth := greatest(depth, (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint);
    END IF;
    RETURN depth;
END
$$;

-- Apps that cannot send at the moment. A worker takes back what it has said itself; what another one said is over when
-- pushes of the app were sent since, which the counts tell to the minute.
CREATE VIEW carillon.held_apps AS
SELECT h.app_id, h.kind, h.reason, h.since, h.next_try_at FROM carillon.holds h
WHERE NOT EXISTS (
    SELECT FROM carillon.activity t
    WHERE t.app_id = h.app_id AND t.minute > date_trunc('minute', h.seen_at) AND t.sent > 0);

-- A row an app. The last minute is the running one and the one before it.
CREATE VIEW carillon.app_status AS
SELECT a.id AS app_id, a.name AS app, a.paused, a.paused_reason, a.environment, a.protocol, a.topic,
    carillon.queue_depth(a.id) AS depth,
    coalesce(flying.jobs, 0) AS in_flight,
    now() - oldest.created_at AS oldest_age,
    coalesce(counts.sent_last_minute, 0) AS sent_last_minute,
    coalesce(counts.failed_last_minute, 0) AS failed_last_minute,
    coalesce(counts.sent_last_hour, 0) AS sent_last_hour,
    coalesce(counts.failed_last_hour, 0) AS failed_last_hour,
    c.name AS credential,
    CASE WHEN c.id IS NULL THEN 'missing' WHEN c.not_after <= now() THEN 'expired'
        WHEN c.status = 'ok' AND c.not_after <= now() + interval '30 days' THEN 'expiring' ELSE c.status END
        AS credential_status,
    c.not_after AS credential_not_after,
    c.last_error AS credential_error, a.feedback_error,
    held.kind AS hold_kind, held.reason AS hold_reason, held.since AS held_since, counts.failure_reason
FROM carillon.apps a
LEFT JOIN carillon.certificates c ON c.id = a.certificate_id
LEFT JOIN carillon.held_apps held ON held.app_id = a.id
LEFT JOIN (
    SELECT t.app_id,
        sum(t.sent) FILTER (WHERE t.minute >= recent.minute) AS sent_last_minute,
        sum(t.failed) FILTER (WHERE t.minute >= recent.minute) AS failed_last_minute,
        sum(t.sent) AS sent_last_hour, sum(t.failed) AS failed_last_hour,
        -- Of the newest, by the index: there may be millions.
        CASE WHEN sum(t.failed) > 0 THEN (
            SELECT latest.reason FROM (
                SELECT f.reason FROM carillon.failures f
                WHERE f.app_id = t.app_id AND f.failed_at BETWEEN now() - interval '1 hour' AND now()
                ORDER BY f.failed_at DESC LIMIT 100) latest
            GROUP BY latest.reason ORDER BY count(*) DESC, latest.reason LIMIT 1) END AS failure_reason
    FROM carillon.activity t, (SELECT date_trunc('minute', now()) - interval '1 minute' AS minute) recent
    WHERE t.minute > now() - interval '1 hour' GROUP BY t.app_id
) counts ON counts.app_id = a.id
LEFT JOIN (
    SELECT i.app_id, sum(cardinality(i.jobs)) AS jobs FROM carillon.inflight i GROUP BY i.app_id
) flying ON flying.app_id = a.id
LEFT JOIN LATERAL (
    -- The first of each lane, by the primary key.
    SELECT min(first.created_at) AS created_at FROM (VALUES (0::smallint), (1), (2)) l (lane) CROSS JOIN LATERAL (
        SELECT m.created_at FROM carillon.messages m WHERE m.app_id = a.id AND m.lane = l.lane
        ORDER BY m.id LIMIT 1) first
) oldest ON true;

INSERT INTO carillon.schema_migrations (version, name) VALUES (11, 'views');
